/**
 * Records the tokens of a rollout's conversations, so that sampled tokens are never tokenized
 * again.
 */
import type { ChatFormat } from '../format/chat-format.js';
import { isPrefill, promptOptionsKey, type PromptInput } from '../format/prompt.js';
import { findFork, type Fork, type ForkReason, type SpliceFailure } from './fork-reason.js';
import { messageKey, replacedCalls } from './message-key.js';
import { restoreReasoning } from './restore.js';
import { holdsReasoning, splice, type Splice } from './splice.js';
import {
  createTurnStore,
  type Path,
  type PromptRecord,
  type RecordedTurn,
  type Turn,
} from './turn.js';

/** Prompt to sample from, as token ids. */
export interface LedgerPrompt {
  readonly ids: Int32Array;
  /**
   * Number of ids at the beginning that are copied from the recording: the prompt and completion of
   * an earlier turn.
   */
  readonly reused: number;
  /**
   * `new`: unrelated to earlier turns. `spliced`: continues an earlier turn. Any other value is the
   * reason why messages were rendered again although the conversation is related to earlier turns.
   */
  readonly outcome: 'new' | 'spliced' | ForkReason;
  /**
   * First difference between the messages that were sent and the recorded ones. Absent if `outcome`
   * is `new` or `spliced`.
   */
  readonly fork?: Fork;
  /** {@link RecordedTurn.call} of the turn whose tokens the prompt continues. */
  readonly continues?: number;
  /**
   * Number of messages into which recorded reasoning was inserted, see {@link
   * LedgerOptions.reasoning}.
   */
  readonly restored: number;
  /**
   * Number of tool calls in the last turn that the agent sent back with changes because providers
   * would reject them: calls whose names contain characters other than letters, digits, `_` and
   * `-`, or whose arguments are not JSON.
   */
  readonly replacedCalls: number;
  /**
   * Data that {@link Ledger.record} needs; absent for a prefill, because its response is not a
   * separate turn.
   */
  readonly entry?: PromptRecord;
}

/** Record of the turns of one rollout. By default, all turns are kept until the rollout ends. */
export interface Ledger {
  /**
   * Returns the token ids to sample from for a conversation.
   * @throws ModelError 400 when the template rejects the messages
   */
  prompt(input: PromptInput): LedgerPrompt;
  /**
   * Records a turn that was sampled from `prompt`. Call it once per choice, before the client gets
   * the response.
   */
  record(prompt: LedgerPrompt, turn: RecordedTurn): void;
  /**
   * Forgets the turns of all prompts before the previous call of this function. It limits memory
   * for models that are served indefinitely.
   */
  forgetEarlier(): void;
}

export interface LedgerOptions {
  /**
   * Behaviour if an agent leaves out reasoning when it sends messages back. `as-sent` renders the
   * conversation without the reasoning, so that training sees the same prompts as any other server
   * would. `restore` inserts the recorded reasoning, so that the conversation continues from the
   * recorded tokens; use `restore` if the server in production restores reasoning too.
   * @default "as-sent"
   */
  readonly reasoning?: 'as-sent' | 'restore';
}

/**
 * Creates a ledger. A prompt consists of the recorded ids of the longest recorded conversation that
 * it continues, followed by the template's rendering of the later messages. To obtain that
 * rendering, recorded turns are rendered as placeholders; the result must begin with the text of
 * the recorded prompt. If the template changes earlier text (drops reasoning, for example), that
 * part is rendered again and the outcome gives the reason.
 */
export function createLedger(
  format: ChatFormat,
  { reasoning = 'as-sent' }: LedgerOptions = {},
): Ledger {
  const turns = createTurnStore();
  /**
   * Key of the tools and template variables of the most recent prompt. Turns with equal keys share
   * this string, which saves memory.
   */
  let lastOptions = '';
  return {
    prompt: (sent) => {
      const { messages, count: restored } =
        reasoning === 'restore' ? restoreReasoning(sent.messages, turns) : { ...sent, count: 0 };
      const input = { ...sent, messages };
      const asked = promptOptionsKey(input);
      if (asked !== lastOptions) lastOptions = asked;
      const options = lastOptions;
      const path = turns.walk(messages);
      const { best, turn, index, failures } = longestSplice(format, input, options, path);
      const { rendered, text, ids, reused } = best ?? renderFromStart(format, input);
      const fork = findFork(path, index, failures, (point) => turns.knows(point));
      const last = path.points.at(-1);
      const prompt = {
        ids,
        reused,
        outcome: fork?.reason ?? (best ? ('spliced' as const) : ('new' as const)),
        fork,
        continues: turn?.call,
        restored,
        replacedCalls:
          turn && last && index === last.index ? replacedCalls(turn.message, last.message) : 0,
      };
      if (isPrefill(messages.at(-1))) return prompt;
      return { ...prompt, entry: { place: path.place, options, ids, rendered, text } };
    },
    record: ({ entry }, turn) => {
      if (!entry) return;
      const thinks = holdsReasoning(format.tokenizer.decode(turn.completion));
      turns.add({ ...turn, prompt: entry, messageKey: messageKey(turn.message), thinks });
    },
    forgetEarlier: () => turns.forgetEarlier(),
  };
}

function renderFromStart(format: ChatFormat, input: PromptInput): Splice {
  const text = format.render(input);
  return { ids: format.encode(text), reused: 0, rendered: input.messages, text };
}

interface SpliceSearch {
  readonly best?: Splice;
  /** The recorded turn that the prompt continues. */
  readonly turn?: Turn;
  /** Index of this turn among the messages of the prompt. */
  readonly index?: number;
  readonly failures: ReadonlyMap<number, SpliceFailure>;
}

function longestSplice(
  format: ChatFormat,
  input: PromptInput,
  options: string,
  { points }: Path,
): SpliceSearch {
  const failures = new Map<number, SpliceFailure>();
  for (const point of points.toReversed()) {
    for (const turn of point.candidates.toReversed()) {
      if (turn.messageKey !== point.messageKey) continue;
      const result = splice(format, input, options, turn, point.index);
      if (typeof result === 'object') return { best: result, turn, index: point.index, failures };
      failures.set(point.index, result);
    }
  }
  return { failures };
}
