/** What a reasoning parser takes and gives. */

export interface ReasoningParse {
  /** Absent when there was none. */
  readonly reasoning?: string;
  /** What comes after it. */
  readonly text: string;
}

export interface ReasoningParser {
  /**
   * Tokens the syntax consists of; they must be visible to the parser even where a vocabulary calls
   * them special.
   */
  readonly markers: readonly string[];
  readonly parse: (text: string) => ReasoningParse;
}
