/** Counters of one rollout, reported to the monitor. */
import type { Metrics } from '@trinity-rft/core';

/**
 * Names of counters:
 * - `calls`, `choices`, `prompt_tokens`, `response_tokens`: finished calls and their sizes
 * - `reused_tokens`: prompt tokens taken from recorded turns instead of rendered again
 * - `spliced`: calls that continued recorded turns exactly; `fork/<reason>`: calls that could not,
 * see `ForkReason`
 * - `reasoning_restored`: calls in whose history reasoning was restored; `calls_replaced`: tool
 * calls that the client sent back with `{}` for arguments that were not JSON, or with another name
 * for one that providers reject
 * - `tool_calls`, `malformed_tool_calls`: tool calls that were parsed, and those left in the text
 * - `unread_tool_calls`: calls of offered tools in the syntax that fits the chat template, left in
 * the text because another tool-call parser is used, or none
 * - `response_truncated`: choices that a token limit ended; `prompt_too_long`: calls rejected
 * because of the length of their prompt
 * - `sampling_overridden`: client requests whose sampling settings were ignored
 * - `constrained`, `unconstrained`: client requests for a response format or tool call that was
 * enforced, or only described to the model
 * - `replayed`: requests that joined or repeated an equal request; `undelivered`: responses that no
 * client received
 */
type CounterName =
  | (typeof alwaysReported)[number]
  | 'choices'
  | 'prompt_tokens'
  | 'response_tokens'
  | 'reused_tokens'
  | `fork/${string}`
  | 'reasoning_restored'
  | 'calls_replaced'
  | 'sampling_overridden'
  | 'unconstrained'
  | 'constrained'
  | 'replayed'
  | 'undelivered';

/** Counters that are reported in this order, even if they are 0. */
const alwaysReported = [
  'calls',
  'spliced',
  'tool_calls',
  'malformed_tool_calls',
  'unread_tool_calls',
  'response_truncated',
  'prompt_too_long',
] as const;

export interface Counters {
  add(name: CounterName, amount?: number): void;
  /** Metrics whose names begin with `model/`. */
  metrics(): Metrics;
}

export function createCounters(): Counters {
  const counts = new Map<string, number>(alwaysReported.map((name) => [name, 0]));
  return {
    add: (name, amount = 1) => void counts.set(name, (counts.get(name) ?? 0) + amount),
    metrics: () => Object.fromEntries([...counts].map(([name, count]) => [`model/${name}`, count])),
  };
}
