/** Conversation with one model, and the messages of its next request. */
import type { Message } from '../../../src/control/interface/index.js';
import { nothingYet, stopped, type Answer, type Offer, type Source } from './sources.js';

export interface Turn {
  /**
   * Number of the turn, unique in the studio. Parts of a response are assigned to their turn by
   * this number.
   */
  readonly id: number;
  readonly question: string;
  readonly answer: Answer;
  /** Name of the task for feedback. Turns with the same messages are attempts at the same task. */
  readonly task: string;
  /** Number of earlier attempts at the task. */
  readonly run: number;
}

export interface Pane {
  readonly source: Source;
  /** True while the page has chosen the source, and no question was asked. @default false */
  readonly isSuggested?: boolean;
  readonly turns: readonly Turn[];
}

export interface Sampling {
  readonly system: string;
  readonly temperature: number;
  readonly maxTokens: number;
  readonly seed: number;
}

const untouched: Pane = { source: { kind: 'none' }, isSuggested: true, turns: [] };

export const panesAtFirst: readonly Pane[] = [untouched, untouched];

/** True if the user has neither chosen a source nor asked a question. */
export const isUntouched = (panes: readonly Pane[]): boolean =>
  panes.every(({ isSuggested }) => isSuggested);

/**
 * Returns the initial choice of models: the oldest and the newest checkpoint of the shown run, or of
 * the run that it evaluates. If it has none, of the first run that has two, or one. A single checkpoint is that of the first pane.
 */
export function suggested(offers: readonly Offer[], shown: string | undefined): readonly Pane[] {
  const has = (count: number) => offers.find(({ checkpoints }) => checkpoints.length >= count);
  const of = (id: string | undefined) => offers.find(({ run }) => run === id);
  const offer = of(shown) ?? of(shown?.replace(/\/evaluations$/, '')) ?? has(2) ?? has(1);
  if (!offer) return panesAtFirst;
  const { run, checkpoints } = offer;
  const names = [...new Set([checkpoints.at(-1)?.name, checkpoints[0]?.name])];
  return panesAtFirst.map((pane, i): Pane => {
    const checkpoint = names[i];
    return checkpoint === undefined
      ? pane
      : { ...pane, source: { kind: 'checkpoint', run, checkpoint } };
  });
}

/** Marks a response in progress as stopped. */
export const ended = (pane: Pane): Pane => ({
  ...pane,
  turns: pane.turns.map((turn) =>
    turn.answer.isOver ? turn : { ...turn, answer: stopped(turn.answer) },
  ),
});

let latestId = 0;
/**
 * Number of attempts by task. Kept after the end of a conversation, because two calls with the same
 * attempt number would be trained on as one conversation.
 */
const attempts = new Map<string, number>();

export function newTurn(question: string, messages: readonly Message[]): Turn {
  const task = taskOf(messages);
  const run = attempts.get(task) ?? 0;
  attempts.set(task, run + 1);
  return { id: ++latestId, question, task, run, answer: nothingYet };
}

export const asked = ({ source, turns }: Pane, turn: Turn): Pane => ({
  source,
  turns: [...turns, turn],
});

/** Updates the response in a turn; a no-op if the pane no longer has the turn. */
export const answered = (pane: Pane, id: number, change: (before: Answer) => Answer): Pane => ({
  ...pane,
  turns: pane.turns.map((turn) =>
    turn.id === id ? { ...turn, answer: change(turn.answer) } : turn,
  ),
});

/** Returns the messages of a request, without turns that have no response. */
export function messagesOf(
  system: string,
  turns: readonly Turn[],
  question: string,
): readonly Message[] {
  const before = turns.filter(isAnswered).flatMap(({ question: earlier, answer }): Message[] => [
    { role: 'user', content: earlier },
    { role: 'assistant', content: answer.text },
  ]);
  const first: Message[] = system === '' ? [] : [{ role: 'system', content: system }];
  return [...first, ...before, { role: 'user', content: question }];
}

const isAnswered = ({ answer: { problem, text, tokens } }: Turn): boolean =>
  problem === undefined && (text !== '' || tokens.length > 0);

/** Prefix of task names, unique per visit, so that feedback from different visits is not mixed. */
const visit = crypto.randomUUID();

/** Name of the task of a request: the visit, and a short hash of the messages. */
function taskOf(messages: readonly Message[]): string {
  const text = JSON.stringify(messages);
  let hash = 0;
  for (const character of text) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) | 0;
  return `${visit} ${(hash >>> 0).toString(36)}`;
}
