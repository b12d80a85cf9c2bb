/** Parsers of tool calls. */
import type { ToolDefinition } from '@trinity-rft/core';

/** A call as the model wrote it. */
export interface ParsedToolCall {
  readonly name: string;
  /** A JSON object: the characters that the model wrote, where it writes JSON. */
  readonly arguments: string;
}

export interface ToolCallParse {
  /** The text without the parsed calls. */
  readonly text: string;
  readonly toolCalls: readonly ParsedToolCall[];
  /** Calls that could not be parsed; they are still in the text. */
  readonly malformed: number;
  /** Index in a text that is not whole up to which more text changes nothing. */
  readonly settled?: number;
}

interface ParseOptions {
  /** The types of arguments where the syntax does not write them. @default none */
  readonly tools?: readonly ToolDefinition[];
  /**
   * False for a text that is still being sampled: finds the calls that no further text can change.
   * @default true
   */
  readonly isWhole?: boolean;
}

export interface ToolCallParser {
  /** Tokens of the syntax; the parser sees them even if the vocabulary marks them as special. */
  readonly markers: readonly string[];
  /** Where a call may begin without a marker: text from there on is not final before the end. */
  readonly unmarked?: RegExp;
  /** Ends every call. @default none: a call is known to be complete only at the end of the text */
  readonly close?: string;
  /** Counts a marker only where the syntax can continue after it, so never inside an argument. */
  readonly parse: (text: string, options?: ParseOptions) => ToolCallParse;
  /** Undefined where calls cannot be forced. */
  readonly syntax?: CallSyntax;
  /** The ids that the chat template accepts. @default "any" */
  readonly callIds?: 'any' | 'nine letters or digits';
}

/** How calls with JSON arguments are written. */
export interface CallSyntax {
  /** Before all calls. */
  readonly open?: string;
  /** Up to the arguments of a call. */
  readonly before: (name: string) => string;
  readonly after: string;
  readonly between: string;
  readonly close?: string;
}
