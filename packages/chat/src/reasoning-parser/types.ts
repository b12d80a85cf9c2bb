/** Parsers of reasoning. */

export interface ReasoningParse {
  /** Absent if there was none. */
  readonly reasoning?: string;
  /** The text after the reasoning. */
  readonly text: string;
}

/** State at the end of the prompt: inside a think block, after one, or neither. */
export type PromptEnd = 'open' | 'closed' | 'other';

export interface ReasoningParser {
  /**
   * Tokens of the syntax; the parser sees their text even if the vocabulary marks them as special.
   */
  readonly markers: readonly [open: string, close: string];
  /**
   * True if a response is reasoning from its start, although neither it nor the prompt has a tag.
   */
  readonly isOpen: boolean;
  /** @param end state at the end of the prompt of that text */
  readonly parse: (text: string, end?: PromptEnd) => ReasoningParse;
}
