/** Parsers of tool calls. */

/** A call as the model wrote it. */
export interface ParsedToolCall {
  readonly name: string;
  /** The characters between `"arguments":` and the end of the value, unchanged; a JSON object. */
  readonly arguments: string;
}

export interface ToolCallParse {
  /** The text without the parsed calls. */
  readonly text: string;
  readonly toolCalls: readonly ParsedToolCall[];
  /** Calls that could not be parsed; they are still in the text. */
  readonly malformed: number;
}

export interface ToolCallParser {
  /** Tokens of the syntax; the parser sees them even if the vocabulary marks them as special. */
  readonly markers: readonly string[];
  readonly parse: (text: string) => ToolCallParse;
}
