/** Parsers of reasoning. */

export interface ReasoningParse {
  /** Absent when there was none. */
  readonly reasoning?: string;
  /** The text after the reasoning. */
  readonly text: string;
}

/** Place where the prompt ends: inside a think block, after one, or neither. */
export type PromptEnd = 'open' | 'closed' | 'other';

export interface ReasoningParser {
  /** Tokens of the syntax; the parser sees them even if the vocabulary marks them as special. */
  readonly markers: readonly [open: string, close: string];
  /** True if a response is reasoning from its start, although neither it nor the prompt says so. */
  readonly isOpen: boolean;
  /** @param end of the prompt that the text answers */
  readonly parse: (text: string, end?: PromptEnd) => ReasoningParse;
}
