/** Parsers of reasoning. */

export interface ReasoningParse {
  /** Reasoning of the response; absent if there is none. */
  readonly reasoning?: string;
  /** The text after the reasoning. */
  readonly text: string;
  /** True if a call ended the reasoning, which a closing marker may still follow. @default false */
  readonly isCutByCall?: boolean;
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
  /** Line of the template after the opening marker. @default no heading */
  readonly heading?: string;
  /** Text with which a call begins that ends the reasoning. @default calls do not end it */
  readonly callMark?: string;
  /** @param end state at the end of the prompt of that text */
  readonly parse: (text: string, end?: PromptEnd) => ReasoningParse;
}
