/** What a tool-call parser takes and gives. */

/** A call as the model wrote it. */
export interface ParsedToolCall {
  readonly name: string;
  /** The characters between `"arguments":` and the end of the value, unchanged; a JSON object. */
  readonly arguments: string;
}

export interface ToolCallParse {
  /** The text without the calls that were understood. */
  readonly text: string;
  readonly toolCalls: readonly ParsedToolCall[];
  /** Calls that were begun but not understood; they are still in the text. */
  readonly malformed: number;
}

export interface ToolCallParser {
  /**
   * Tokens the syntax consists of; they must be visible to the parser even where a vocabulary calls
   * them special.
   */
  readonly markers: readonly string[];
  readonly parse: (text: string) => ToolCallParse;
}
