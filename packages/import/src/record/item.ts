/** Conversations and their parts, as sources find them in records, before they become rows. */
import type { ChatMessage, ToolDefinition } from '@trinity-rft/core';

export type Json = Readonly<Record<string, unknown>>;

/** One conversation, with or without its last answer. */
export interface Conversation {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ToolDefinition[];
  /** Mean of the scores that the source has for the last answer. */
  readonly score?: number;
  /** The reference answer, where the source states one apart from the messages. */
  readonly truth?: unknown;
  /** Further columns of a task. */
  readonly fields?: Json;
}

/** A prompt with a preferred and a rejected answer. */
export interface Preference {
  readonly prompt: readonly ChatMessage[];
  readonly chosen: readonly ChatMessage[];
  readonly rejected: readonly ChatMessage[];
  readonly tools?: readonly ToolDefinition[];
}

/** Part of a conversation that several records describe, such as a span of a trace. */
export interface Fragment {
  /** Equal for all parts that are assembled together: the id of a trace. */
  readonly group: string;
  readonly part: unknown;
}

/** Why something was not imported. */
export interface Fault {
  /** Equal for all records with the same fault. */
  readonly reason: string;
  /** The value that was found. */
  readonly detail?: string;
}

export type Finished = Conversation | Preference | Fault;
export type Item = Finished | Fragment;

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isPresent = (value: unknown): boolean => value !== undefined && value !== null;
