/**
 * Conversations, preferences and parts of conversations, which sources extract from records and the
 * import converts to rows.
 */
import type { ChatMessage, ToolDefinition } from '@trinity-rft/core';

export type Json = Readonly<Record<string, unknown>>;

/** A grade that the source has for a response, such as an evaluation or feedback. */
export interface Score {
  readonly name: string;
  readonly value: number;
}

/** One conversation. Its last response may be missing. */
export interface Conversation {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ToolDefinition[];
  /** Scores of the last response. @default none */
  readonly scores?: readonly Score[];
  /** The reference answer, if the source stores one outside of the messages. */
  readonly truth?: unknown;
  /** True if the source marks the last response as a bad one. @default false */
  readonly isRejected?: boolean;
  /** Column of images, videos or sounds, which rows cannot hold. @default none */
  readonly media?: string;
  /** Additional columns of a task. */
  readonly fields?: Json;
}

/** A prompt with a chosen and a rejected response. */
export interface Preference {
  readonly prompt: readonly ChatMessage[];
  readonly chosen: readonly ChatMessage[];
  readonly rejected: readonly ChatMessage[];
  readonly tools?: readonly ToolDefinition[];
  /** Column of images, videos or sounds, which rows cannot hold. @default none */
  readonly media?: string;
}

/** A part of a conversation that is spread over several records, such as a span of a trace. */
export interface Fragment {
  /** Id shared by all parts of the conversation, such as the trace id. */
  readonly group: string;
  readonly part: unknown;
}

/** Reason why a record, or a part of it, was not imported. */
export interface Fault {
  /** Message without details of the record; the report groups records by it. */
  readonly reason: string;
  /** The faulty value in the record. */
  readonly detail?: string;
}

export type Finished = Conversation | Preference | Fault;
export type Item = Finished | Fragment;

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isPresent = (value: unknown): boolean => value !== undefined && value !== null;
