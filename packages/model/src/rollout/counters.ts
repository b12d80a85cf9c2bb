/** What one rollout did, as numbers for the monitor. */
import type { Metrics } from '@trinity-rft/core';

/**
 * - `calls`, `choices`, `prompt_tokens`, `response_tokens`: finished calls and their sizes
 * - `reused_tokens`: prompt tokens that were recorded ones, not rendered anew
 * - `spliced`: calls that continued recorded turns exactly; `fork/<reason>`: those that could not,
 * see `ForkReason`
 * - `reasoning_restored`: calls whose history got reasoning back; `arguments_replaced`: arguments
 * that were no JSON and came back as `{}`
 * - `tool_calls`, `malformed_tool_calls`: understood, and left in the text
 * - `response_truncated`: choices that a token limit ended; `prompt_too_long`: calls refused for
 * their prompt
 * - `sampling_overridden`, `unconstrained`: client requests whose sampling settings, or forced
 * formats, were not followed
 * - `constrained`: client requests whose answers were kept to the form they asked for
 * - `replayed`: requests that got the answer of an equal one; `undelivered`: answers that no client
 * received
 */
type CounterName =
  | 'calls'
  | 'choices'
  | 'prompt_tokens'
  | 'response_tokens'
  | 'reused_tokens'
  | 'spliced'
  | `fork/${string}`
  | 'reasoning_restored'
  | 'arguments_replaced'
  | 'tool_calls'
  | 'malformed_tool_calls'
  | 'response_truncated'
  | 'prompt_too_long'
  | 'sampling_overridden'
  | 'unconstrained'
  | 'constrained'
  | 'replayed'
  | 'undelivered';

const always = [
  'calls',
  'spliced',
  'tool_calls',
  'malformed_tool_calls',
  'response_truncated',
  'prompt_too_long',
] as const;

export interface Counters {
  add(name: CounterName, amount?: number): void;
  /** Under `model/`; the common ones even when they are 0. */
  metrics(): Metrics;
}

export function createCounters(): Counters {
  const counts = new Map<string, number>(always.map((name) => [name, 0]));
  return {
    add: (name, amount = 1) => void counts.set(name, (counts.get(name) ?? 0) + amount),
    metrics: () => Object.fromEntries([...counts].map(([name, count]) => [`model/${name}`, count])),
  };
}
