/** Parsers of reasoning. */

export interface ReasoningParse {
  /** Absent when there was none. */
  readonly reasoning?: string;
  /** The text after the reasoning. */
  readonly text: string;
}

export interface ReasoningParser {
  /** Tokens of the syntax; the parser sees them even if the vocabulary marks them as special. */
  readonly markers: readonly string[];
  readonly parse: (text: string) => ReasoningParse;
}
