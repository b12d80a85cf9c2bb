/** The tokens of a rollout's conversations: what was sampled is never tokenised again. */
import type { ChatFormat, PromptInput } from '../chat-format.js';
import { continues } from '../chat-format.js';
import { forkReason, type ForkReason, type SpliceFailure } from './fork-reason.js';
import { messageKey } from './message-key.js';
import { splice, type Splice } from './splice.js';
import { createTurnStore, type Path, type PromptRecord, type RecordedTurn } from './turn.js';

/** The ids to sample from. */
export interface LedgerPrompt {
  readonly ids: Int32Array;
  /** How many leading ids are recorded ones: prompt and completion of an earlier turn. */
  readonly reused: number;
  /** `new`: no earlier turn belongs to it. `spliced`: it continues one. Otherwise why something was rendered anew. */
  readonly outcome: 'new' | 'spliced' | ForkReason;
  /** For {@link Ledger.record}; absent where an assistant message is continued, for that gives no turn of its own. */
  readonly entry?: PromptRecord;
}

/** One per rollout. Holds every turn until the rollout ends. */
export interface Ledger {
  /** Ids for a conversation. @throws ModelError 400 when the template refuses the messages */
  prompt(input: PromptInput): LedgerPrompt;
  /** Remembers a turn that was sampled from `prompt`: once per choice, before the client can see the answer. */
  record(prompt: LedgerPrompt, turn: RecordedTurn): void;
}

/**
 * The next prompt is the recorded ids of the longest conversation it continues + the template's rendering of the rest.
 * Every recorded turn in it is rendered as a stand-in, and the rendering must begin with that of the recorded prompt:
 * where the template changes earlier text (drops reasoning, say), that part is rendered anew and the reason given.
 */
export function createLedger(format: ChatFormat): Ledger {
  const turns = createTurnStore();
  return {
    prompt: (input) => {
      const options = JSON.stringify([input.tools ?? [], input.enableThinking]);
      const path = turns.walk(input.messages);
      const { best, index, failures } = longestSplice(format, input, options, path);
      const { rendered, text, ids, reused } = best ?? renderAnew(format, input);
      const outcome = forkReason(path, index, failures, (point) => turns.knows(point)) ?? (best ? 'spliced' : 'new');
      if (continues(input.messages.at(-1))) return { ids, reused, outcome };
      return { ids, reused, outcome, entry: { key: path.key, options, ids, rendered, text } };
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
  /** Index of the assistant message it continues after. */
  readonly index?: number;
  readonly failures: ReadonlyMap<number, SpliceFailure>;
}

function longestSplice(format: ChatFormat, input: PromptInput, options: string, { points }: Path): SpliceSearch {
  const failures = new Map<number, SpliceFailure>();
  for (const point of points.toReversed()) {
    for (const turn of point.candidates.toReversed()) {
      if (turn.messageKey !== point.messageKey) continue;
      const result = splice(format, input, options, turn, point.index);
      if (typeof result === 'object') return { best: result, index: point.index, failures };
      failures.set(point.index, result);
    }
  }
  return { failures };
}
