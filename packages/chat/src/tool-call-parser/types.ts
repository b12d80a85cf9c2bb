import type { ToolDefinition } from '@trinity-rft/core';

/** A call in the form in which the model wrote it. */
export interface ParsedToolCall {
  readonly name: string;
  /** A JSON object: the exact characters that the model wrote, if its syntax is JSON. */
  readonly arguments: string;
}

export interface ToolCallParse {
  /** The text without the parsed calls. */
  readonly text: string;
  readonly toolCalls: readonly ParsedToolCall[];
  /** Number of calls that could not be parsed; most parsers leave such calls in the text. */
  readonly malformed: number;
  /** Index up to which an unfinished text is final: later text cannot change how it is parsed. */
  readonly settled?: number;
}

interface ParseOptions {
  /**
   * Definitions with the types of arguments, for syntaxes that do not write types.
   * @default no tools
   */
  readonly tools?: readonly ToolDefinition[];
  /**
   * False for a text that is still being sampled: only finds calls that later text cannot change.
   * @default true
   */
  readonly isWhole?: boolean;
}

export interface ToolCallParser {
  /**
   * Tokens of the syntax; the parser sees their text even if the vocabulary marks them as special.
   */
  readonly markers: readonly string[];
  /**
   * Matches places where a call may begin without a marker: text from there on is not final until
   * the response ends.
   */
  readonly unmarked?: RegExp;
  /**
   * Text that ends every call. @default no text: calls are only complete at the end of the response
   */
  readonly close?: string;
  /**
   * Tokens that end a turn with calls, in addition to the tokenizer's end tokens.
   * @default no other tokens
   */
  readonly stops?: readonly string[];
  /**
   * Parses calls. A marker only counts if the syntax can continue after the marker, which excludes
   * markers inside arguments.
   */
  readonly parse: (text: string, options?: ParseOptions) => ToolCallParse;
  /** Syntax in which a grammar can force calls; undefined if calls cannot be forced. */
  readonly syntax?: CallSyntax;
  /** Format of the ids that the chat template accepts. @default "any" */
  readonly callIds?: 'any' | 'nine letters or digits';
}

/** Syntax of calls with JSON arguments. */
export interface CallSyntax {
  /** Text before all calls. */
  readonly open?: string;
  /** Text of a call up to its arguments. */
  readonly before: (name: string) => string;
  readonly after: string;
  readonly between: string;
  readonly close?: string;
}
