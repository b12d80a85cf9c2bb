/**
 * Controls explore steps in streaming, where there are no boundaries: each step starts as soon as
 * the synchronizer allows it, even if other steps are in progress.
 */
import type { Clock, Metrics } from '@trinity-rft/core';
import type { ExploreSync } from './explorer-options.js';

export interface Stream {
  mayBegin(step: number): boolean;
  /**
   * Waits until explore step `step` may begin. Called when no step is in progress, so the time
   * counts as idle.
   */
  idle(step: number): Promise<void>;
  /**
   * Waits until explore step `step` may begin or `ended` settles. Resolves to true if the step may
   * begin before `ended` settles.
   */
  mayBeginFirst(step: number, ended: Promise<unknown>): Promise<boolean>;
  /** Returns the metrics of a step whose rollouts have ended. Called once per step, in order. */
  metrics(policyVersion: number): Metrics;
}

export function createStream(
  streaming: NonNullable<ExploreSync['streaming']>,
  clock: Pick<Clock, 'now'>,
  signal: AbortSignal,
): Stream {
  let lastVersion: number | undefined;
  let idleMs = 0;
  return {
    mayBegin: (step) => streaming.mayBegin(step),
    idle: async (step) => {
      const start = clock.now();
      await streaming.whenItMay(step, signal);
      idleMs += clock.now() - start;
    },
    mayBeginFirst: async (step, ended) => {
      const raced = new AbortController();
      const begins = streaming.whenItMay(step, AbortSignal.any([signal, raced.signal]));
      begins.catch(() => undefined);
      try {
        return await Promise.race([begins.then(() => true), ended.then(() => false)]);
      } finally {
        raced.abort();
      }
    },
    metrics: (policyVersion) => {
      const updated = (lastVersion ?? policyVersion) === policyVersion ? 0 : 1;
      const metrics = { 'rollout/sync/updated': updated, 'time/sync_weight': idleMs / 1000 };
      [lastVersion, idleMs] = [policyVersion, 0];
      return metrics;
    },
  };
}
