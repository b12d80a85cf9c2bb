/** Measurements of one request, collected while it is processed. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Sampler } from '@trinity-rft/core/engine';

export interface CallRecord {
  promptTokens: number;
  completionTokens: number;
  /** Time from the start of the request to its first token, in ms; undefined before that token. */
  firstTokenMs: number | undefined;
}

interface RunningCall {
  readonly record: CallRecord;
  readonly startedAt: number;
}

const calls = new AsyncLocalStorage<RunningCall>();

/**
 * Runs `work` and records the token counts of its sampler calls in `record`. Only calls of samplers
 * that are wrapped with {@link counted} are recorded.
 */
export function recordCall<T>(record: CallRecord, work: () => Promise<T>): Promise<T> {
  return calls.run({ record, startedAt: performance.now() }, work);
}

/**
 * Wraps a sampler to count tokens. Each call is added to the record of the request that made it.
 */
export const counted = (sampler: Sampler): Sampler => ({
  ...sampler,
  get policyVersion() {
    return sampler.policyVersion;
  },
  sample: async (prompt, options, signal, onTokens) => {
    const call = calls.getStore();
    if (!call) return sampler.sample(prompt, options, signal, onTokens);
    const { record, startedAt } = call;
    record.promptTokens += prompt.length;
    const noteFirst = (): void => void (record.firstTokenMs ??= performance.now() - startedAt);
    const sequences = await sampler.sample(prompt, options, signal, (choice, tokens) => {
      noteFirst();
      onTokens?.(choice, tokens);
    });
    noteFirst();
    for (const { tokens } of sequences) record.completionTokens += tokens.length;
    return sequences;
  },
});
