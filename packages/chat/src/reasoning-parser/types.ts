export interface ReasoningParse {
  /** Reasoning of the response; absent if there is none. */
  readonly reasoning?: string;
  /** The text after the reasoning. */
  readonly text: string;
  /** True if a tool call ended the reasoning; a closing marker may still follow. @default false */
  readonly isCutByCall?: boolean;
}

/** State at the end of the prompt: inside a think block, after a think block, or neither. */
export type PromptEnd = 'open' | 'closed' | 'other';

export interface ReasoningParser {
  /**
   * Tokens of the syntax; the parser sees their text even if the vocabulary marks them as special.
   */
  readonly markers: readonly [open: string, close: string];
  /**
   * True if a response begins inside the reasoning even when neither the response nor the prompt
   * contains the opening marker.
   */
  readonly isOpen: boolean;
  /**
   * Line that follows the opening marker and does not belong to the reasoning. @default no heading
   */
  readonly heading?: string;
  /**
   * Text at the beginning of a tool call, which ends the reasoning.
   * @default no mark: calls do not end the reasoning
   */
  readonly callMark?: string;
  /**
   * Splits a response into reasoning and text.
   * @param end state at the end of the prompt that the response follows
   */
  readonly parse: (text: string, end?: PromptEnd) => ReasoningParse;
}
