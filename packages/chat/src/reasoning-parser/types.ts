/** Parsers of reasoning. */

export interface ReasoningParse {
  /** Absent when there was none. */
  readonly reasoning?: string;
  /** The text after the reasoning. */
  readonly text: string;
}

/** Whether the prompt ends inside a think block, after one, or with neither. */
export type PromptEnd = 'open' | 'closed' | 'other';

export interface ReasoningParser {
  /** Tokens of the syntax; the parser sees them even if the vocabulary marks them as special. */
  readonly markers: readonly [open: string, close: string];
  /** Whether a response is reasoning from its start on, though neither it nor the prompt says so. */
  readonly isOpen: boolean;
  /** @param end of the prompt that the text answers */
  readonly parse: (text: string, end?: PromptEnd) => ReasoningParse;
}
