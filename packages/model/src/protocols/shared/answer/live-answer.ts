/** A response while it is being generated, for clients that stream it. */
import type { TurnSoFar } from '../../../rollout/generate.js';

/**
 * State of a response that is being generated.
 * @typeParam Head data that are known before the first token: id, time, settings of the request
 */
export interface LiveAnswer<Head> {
  /** Data that are known before the first token; undefined until the generation has started. */
  readonly head: Head | undefined;
  /** For each choice, the part of its turn that is final. Later values only add to this part. */
  readonly turns: readonly (TurnSoFar | undefined)[];
  /** Number of times the turns have changed. */
  readonly changes: number;
  begin(head: Head): void;
  update(choice: number, turn: TurnSoFar): void;
  /** Resolves when the turns have changed more than `seen` times. */
  changed(seen: number): Promise<void>;
}

export function createLiveAnswer<Head>(): LiveAnswer<Head> {
  const turns: TurnSoFar[] = [];
  let head: Head | undefined;
  let changes = 0;
  let waiting = Promise.withResolvers<void>();
  return {
    get head() {
      return head;
    },
    turns,
    get changes() {
      return changes;
    },
    begin: (known) => void (head = known),
    update: (choice, turn) => {
      if (isSame(turns[choice], turn)) return;
      turns[choice] = turn;
      changes++;
      waiting.resolve();
      waiting = Promise.withResolvers();
    },
    changed: (seen) => (changes > seen ? Promise.resolve() : waiting.promise),
  };
}

function isSame(before: TurnSoFar | undefined, turn: TurnSoFar): boolean {
  const { responseText = '', reasoningText = '', toolCalls = [] } = before ?? {};
  return (
    responseText.length === turn.responseText.length &&
    reasoningText.length === (turn.reasoningText ?? '').length &&
    toolCalls.length === turn.toolCalls.length
  );
}

/**
 * Returns the text that was appended to `before` to give `now`, or an empty string if `now` does
 * not begin with `before`.
 */
export const gained = (before: string, now: string): string =>
  now.startsWith(before) ? now.slice(before.length) : '';
