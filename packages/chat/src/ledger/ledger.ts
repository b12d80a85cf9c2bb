/** The tokens of a rollout's conversations: what was sampled is never tokenised again. */
import type { ChatFormat, PromptInput } from '../format/chat-format.js';
import { continues, optionsKey } from '../format/chat-format.js';
import { findFork, type Fork, type ForkReason, type SpliceFailure } from './fork-reason.js';
import { messageKey, replacedArguments } from './message-key.js';
import { restoreReasoning } from './restore.js';
import { splice, type Splice } from './splice.js';
import {
  createTurnStore,
  type Path,
  type PromptRecord,
  type RecordedTurn,
  type Turn,
} from './turn.js';

/** The ids to sample from. */
export interface LedgerPrompt {
  readonly ids: Int32Array;
  /** How many leading ids are recorded ones: prompt and completion of an earlier turn. */
  readonly reused: number;
  /**
   * `new`: no earlier turn belongs to it. `spliced`: it continues one. Otherwise why something was
   * rendered anew.
   */
  readonly outcome: 'new' | 'spliced' | ForkReason;
  /** What was sent in place of what was recorded, where the outcome is a reason. */
  readonly fork?: Fork;
  /** {@link RecordedTurn.call} of the turn whose tokens it continues. */
  readonly continues?: number;
  /** Messages whose reasoning was put back. */
  readonly restored: number;
  /**
   * Tool calls of the last turn whose arguments were no JSON and came back as something else, `{}`
   * as a rule.
   */
  readonly replacedArguments: number;
  /**
   * For {@link Ledger.record}; absent where an assistant message is continued, for that gives no
   * turn of its own.
   */
  readonly entry?: PromptRecord;
}

/** One per rollout. Holds every turn until the rollout ends. */
export interface Ledger {
  /** Ids for a conversation. @throws ModelError 400 when the template refuses the messages */
  prompt(input: PromptInput): LedgerPrompt;
  /**
   * Remembers a turn that was sampled from `prompt`: once per choice, before the client can see the
   * answer.
   */
  record(prompt: LedgerPrompt, turn: RecordedTurn): void;
}

export interface LedgerOptions {
  /**
   * `as-sent`: reasoning that an agent leaves out of its history is gone, and the conversation is
   * rendered anew: what is trained is what the agent will see elsewhere. `restore`: it is put back,
   * so that conversations continue; use it where the agent will be served by something that does
   * the same. @default "as-sent"
   */
  readonly reasoning?: 'as-sent' | 'restore';
}

/**
 * The next prompt is the recorded ids of the longest conversation it continues + the template's
 * rendering of the rest. Every recorded turn in it is rendered as a stand-in, and the rendering
 * must begin with that of the recorded prompt: where the template changes earlier text (drops
 * reasoning, say), that part is rendered anew and the reason given.
 */
export function createLedger(
  format: ChatFormat,
  { reasoning = 'as-sent' }: LedgerOptions = {},
): Ledger {
  const turns = createTurnStore();
  /**
   * Of the last prompt: one rollout asks with the same ones again and again, and every turn keeps
   * them.
   */
  let lastOptions = '';
  return {
    prompt: (sent) => {
      const { messages, count: restored } =
        reasoning === 'restore' ? restoreReasoning(sent.messages, turns) : { ...sent, count: 0 };
      const input = { ...sent, messages };
      const asked = optionsKey(input);
      if (asked !== lastOptions) lastOptions = asked;
      const options = lastOptions;
      const path = turns.walk(messages);
      const { best, turn, index, failures } = longestSplice(format, input, options, path);
      const { rendered, text, ids, reused } = best ?? renderAnew(format, input);
      const fork = findFork(path, index, failures, (point) => turns.knows(point));
      const last = path.points.at(-1);
      const prompt = {
        ids,
        reused,
        outcome: fork?.reason ?? (best ? ('spliced' as const) : ('new' as const)),
        ...(fork && { fork }),
        ...(turn?.call !== undefined && { continues: turn.call }),
        restored,
        replacedArguments:
          turn && last && index === last.index ? replacedArguments(turn.message, last.message) : 0,
      };
      if (continues(messages.at(-1))) return prompt;
      return { ...prompt, entry: { place: path.place, options, ids, rendered, text } };
    },
    record: ({ entry }, turn) => {
      if (!entry) return;
      const thinks = format.tokenizer.decode(turn.completion).includes('</think>');
      turns.add({ ...turn, prompt: entry, messageKey: messageKey(turn.message), thinks });
    },
  };
}

function renderAnew(format: ChatFormat, input: PromptInput): Splice {
  const text = format.render(input);
  return { ids: format.encode(text), reused: 0, rendered: input.messages, text };
}

interface SpliceSearch {
  readonly best?: Splice;
  /** The turn it continues. */
  readonly turn?: Turn;
  /** Index of the assistant message it continues after. */
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
