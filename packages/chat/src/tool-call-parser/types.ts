import type { ToolDefinition } from '@trinity-rft/core';

/** A tool call that was parsed from a response. */
export interface ParsedToolCall {
  readonly name: string;
  /**
   * JSON object with the arguments. If the call syntax is JSON, it consists of the exact characters
   * that the model wrote.
   */
  readonly arguments: string;
}

export interface ToolCallParse {
  /** The text without the parsed calls. */
  readonly text: string;
  readonly toolCalls: readonly ParsedToolCall[];
  /** Number of calls that could not be parsed; most parsers leave such calls in the text. */
  readonly malformed: number;
  /**
   * Number of characters at the beginning of an unfinished text that are parsed finally: later text
   * cannot change the result for them.
   */
  readonly settled?: number;
}

interface ParseOptions {
  /**
   * Tool definitions. They give the types of arguments, which some call syntaxes do not show.
   * @default no tools
   */
  readonly tools?: readonly ToolDefinition[];
  /**
   * False for a text that is still being sampled: the parser then returns only calls that later
   * text cannot change.
   * @default true
   */
  readonly isWhole?: boolean;
}

export interface ToolCallParser {
  /**
   * Tokens of the call syntax. The parser gets their text even if the vocabulary marks them as
   * special.
   */
  readonly markers: readonly string[];
  /**
   * Matches positions at which a call may begin without a marker. Text from such a position on is
   * not final until the response ends.
   */
  readonly unmarked?: RegExp;
  /**
   * Text that ends every call.
   * @default undefined: calls are only complete when the response ends
   */
  readonly close?: string;
  /**
   * Tokens that end a turn after calls, in addition to the tokenizer's end tokens.
   * @default no other tokens
   */
  readonly stops?: readonly string[];
  /**
   * Parses calls. A marker only counts if the text after it can belong to a call, so that markers
   * inside arguments are ignored.
   */
  readonly parse: (text: string, options?: ParseOptions) => ToolCallParse;
  /**
   * Call syntax that a grammar can enforce; undefined if calls of this syntax cannot be enforced.
   */
  readonly syntax?: CallSyntax;
  /** Format of the ids that the chat template accepts. @default "any" */
  readonly callIds?: 'any' | 'nine letters or digits';
}

/** Call syntax in which arguments are JSON. */
export interface CallSyntax {
  /** Text before the first call. */
  readonly open?: string;
  /** Returns the text of a call before its arguments. */
  readonly before: (name: string) => string;
  readonly after: string;
  readonly between: string;
  readonly close?: string;
}
