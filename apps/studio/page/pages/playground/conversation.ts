/** Conversation of one model, and the messages of its next request. */
import type { Message } from '../../../src/control/interface/index.js';
import { nothingYet, type Answer, type Offer, type Source } from './sources.js';

export interface Turn {
  /**
   * Number of the turn, unique in the studio. Parts of an answer are assigned to their turn by this
   * number.
   */
  readonly id: number;
  readonly question: string;
  readonly answer: Answer;
  /** Number of earlier attempts at the same question. */
  readonly attempt: number;
}

export interface Pane {
  readonly source: Source;
  readonly turns: readonly Turn[];
}

export interface Sampling {
  readonly system: string;
  readonly temperature: number;
  readonly maxTokens: number;
  readonly seed: number;
}

const unset: Source = { kind: 'none' };

export const panesAtFirst: readonly Pane[] = [
  { source: unset, turns: [] },
  { source: unset, turns: [] },
];

/** True if no source has been chosen for any pane. */
export const isUntouched = (panes: readonly Pane[]): boolean =>
  panes.every(({ source }) => source === unset);

/**
 * Panes with the oldest and the newest checkpoint of the first run that has two; or else one pane
 * with the only checkpoint of a run.
 */
export function suggested(offers: readonly Offer[]): readonly Pane[] {
  const has = (count: number) => offers.find(({ checkpoints }) => checkpoints.length >= count);
  const offer = has(2) ?? has(1);
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

/** Marks a running answer as over. */
export const ended = (pane: Pane): Pane => ({
  ...pane,
  turns: pane.turns.map((turn) => ({
    ...turn,
    answer: { ...turn.answer, waits: undefined, isOver: true },
  })),
});

let latestId = 0;

export const newTurn = (question: string, attempt: number): Turn => ({
  ...{ id: ++latestId, question, attempt },
  answer: nothingYet,
});

export const asked = (pane: Pane, turn: Turn): Pane => ({ ...pane, turns: [...pane.turns, turn] });

/** Updates the answer of a turn; a no-op if the pane does not have the turn any more. */
export const answered = (pane: Pane, id: number, change: (before: Answer) => Answer): Pane => ({
  ...pane,
  turns: pane.turns.map((turn) =>
    turn.id === id ? { ...turn, answer: change(turn.answer) } : turn,
  ),
});

export function messagesOf(
  system: string,
  turns: readonly Turn[],
  question: string,
): readonly Message[] {
  const before = turns.flatMap(({ question: earlier, answer }): Message[] => [
    { role: 'user', content: earlier },
    { role: 'assistant', content: answer.text },
  ]);
  const first: Message[] = system === '' ? [] : [{ role: 'system', content: system }];
  return [...first, ...before, { role: 'user', content: question }];
}

/**
 * Number of earlier turns with this question in all panes, plus the number of products that were
 * already asked in this round.
 */
export function attempts(panes: readonly Pane[], at: number, question: string): number {
  const turns = panes.flatMap((pane) => pane.turns).filter((turn) => turn.question === question);
  const inThisRound = panes.slice(0, at).filter(({ source }) => source.kind === 'product').length;
  return turns.length + inThisRound;
}

/** Prefix of task names, unique per visit, so that feedback from different visits is not mixed. */
const visit = crypto.randomUUID();

/** Name of the task that a question belongs to: the visit, and a short hash of the messages. */
export function taskOf(system: string, turns: readonly Turn[], question: string): string {
  const text = JSON.stringify(messagesOf(system, turns, question));
  let hash = 0;
  for (const character of text) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) | 0;
  return `${visit} ${(hash >>> 0).toString(36)}`;
}
