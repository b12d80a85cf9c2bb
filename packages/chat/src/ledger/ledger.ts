/** The tokens of a rollout's conversations: sampled tokens are never tokenized again. */
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
  /** Number of leading ids that are recorded: prompt and completion of an earlier turn. */
  readonly reused: number;
  /**
   * `new`: unrelated to earlier turns. `spliced`: continues an earlier turn. Otherwise the reason
   * why messages were rendered again instead of continuing recorded tokens.
   */
  readonly outcome: 'new' | 'spliced' | ForkReason;
  /**
   * The first difference between the messages and the recorded messages. Set only if `outcome` is a
   * reason for not continuing the recording.
   */
  readonly fork?: Fork;
  /** {@link RecordedTurn.call} of the turn whose tokens the prompt continues. */
  readonly continues?: number;
  /** Number of messages whose reasoning was restored. */
  readonly restored: number;
  /**
   * Number of tool calls in the last turn that the agent changed because providers reject them:
   * calls whose names contain characters other than letters, digits, `_` and `-`, or whose
   * arguments are not JSON.
   */
  readonly replacedCalls: number;
  /**
   * Input for {@link Ledger.record}; absent for a prefill, whose response is not a separate turn.
   */
  readonly entry?: PromptRecord;
}

/** Record of the turns of one rollout. By default, all turns are kept until the rollout ends. */
export interface Ledger {
  /**
   * Returns the ids for a conversation.
   * @throws ModelError 400 when the template rejects the messages
   */
  prompt(input: PromptInput): LedgerPrompt;
  /**
   * Records a turn that was sampled from `prompt`. Call it once per choice, before the client gets
   * the response.
   */
  record(prompt: LedgerPrompt, turn: RecordedTurn): void;
}

export interface LedgerOptions {
  /**
   * Behaviour if an agent omits reasoning from its history. `as-sent` renders the conversation
   * again without the reasoning, so that training sees the prompts that any other server would see.
   * `restore` inserts the recorded reasoning, so that conversations continue; use `restore` if the
   * server in production restores reasoning too.
   * @default "as-sent"
   */
  readonly reasoning?: 'as-sent' | 'restore';
  /**
   * Number of most recent prompts whose turns are always kept, for models that are served
   * indefinitely. A turn is forgotten after at most twice as many prompts.
   * @default no limit
   */
  readonly keptPrompts?: number;
}

/**
 * Creates a ledger. The next prompt consists of the recorded ids of the longest conversation that
 * it continues, followed by the template's rendering of the later messages. Recorded turns are
 * rendered as placeholders, and the rendering must begin with the text of the recorded prompt. If
 * the template changes earlier text (drops reasoning, for example), that part is rendered again and
 * the outcome gives the reason.
 */
export function createLedger(
  format: ChatFormat,
  { reasoning = 'as-sent', keptPrompts }: LedgerOptions = {},
): Ledger {
  const turns = createTurnStore(keptPrompts);
  /**
   * Most recent options key. Equal keys share one string to save memory, because every turn keeps
   * its key.
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
  /** Index of the recorded turn among the messages. */
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
