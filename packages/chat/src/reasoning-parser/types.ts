export interface ReasoningParse {
  /** Reasoning of the response; absent if there is none. */
  readonly reasoning?: string;
  /** The text after the reasoning. */
  readonly text: string;
  /** True if a tool call ended the reasoning; a closing marker may still follow. @default false */
  readonly isCutByCall?: boolean;
}

/**
 * End of a prompt: the opening marker of reasoning (`open`), the closing marker (`closed`), or
 * neither (`other`).
 */
export type PromptEnd = 'open' | 'closed' | 'other';

export interface ReasoningParser {
  /**
   * Opening and closing marker of reasoning. The parser gets their text even if the vocabulary
   * marks these tokens as special.
   */
  readonly markers: readonly [open: string, close: string];
  /**
   * True if a response is assumed to begin inside the reasoning even if neither the prompt nor the
   * response contains the opening marker.
   */
  readonly isOpen: boolean;
  /**
   * Line between the opening marker and the reasoning, such as the name of a channel, which is not
   * part of the reasoning.
   * @default no heading
   */
  readonly heading?: string;
  /**
   * Marker at the beginning of a tool call; a call ends the reasoning.
   * @default no mark: calls do not end the reasoning
   */
  readonly callMark?: string;
  /**
   * Splits a response into reasoning and text.
   * @param end how the prompt of the response ends
   */
  readonly parse: (text: string, end?: PromptEnd) => ReasoningParse;
}
