/**
 * The style `fixed`, in which trainer and explorer synchronize after every few explore steps. At
 * such a boundary, the explorer waits until the trainer has consumed all earlier experiences,
 * except those of the last `syncOffset` steps, and then takes the trainer's current weights. Until
 * then, these and all later experiences are withheld from the trainer. The weights that an explore
 * step uses therefore depend neither on the speed of the two sides nor on the number of train steps
 * per explore step. A resumed training run has the same boundaries.
 */
import { isBoundary, type Weights } from './rules/settings.js';
import type { Style, SyncParts, SyncResult } from './sync-parts.js';

export function fixedStyle(parts: SyncParts): Style {
  return {
    release: () => release(parts),
    isBoundary: (step) => isBoundary(parts.settings, step),
    exploreBoundary: async (_step, signal) => {
      const result = await exploreBoundary(parts, signal);
      parts.state.boundary += parts.settings.explorerSyncInterval;
      release(parts);
      return result;
    },
    trainStepDone: () => Promise.resolve(),
    withSteadyWeights: (work) => work(),
    close: () => Promise.resolve(),
  };
}

function release({ state, settings, releaseUpTo }: SyncParts): void {
  releaseUpTo(Math.min(state.boundary - settings.syncOffset, state.held - 1));
}

async function exploreBoundary(
  parts: SyncParts,
  signal: AbortSignal | undefined,
): Promise<SyncResult> {
  const { state } = parts;
  const version = state.explorerVersion;
  if (!(await trainerIsIdle(parts, signal))) return { outcome: 'timeout', version };
  if (!state.trainerRuns) return { outcome: 'trainer_stopped', version };
  const weights: Weights = { version: state.trainStep, consumedUpTo: state.storedUpTo };
  if (weights.version > state.published.version) await publish(parts, weights);
  const outcome = state.published.version > version ? 'updated' : 'starved';
  // After a resume, the trainer may publish a version that the explorer used before. That version
  // is not newer, but the sampler does not have it.
  if (state.published.version !== state.inUse.version) await adopt(parts);
  state.explorerVersion = state.published.version;
  return { outcome, version: state.explorerVersion };
}

/**
 * Resolves with true when the trainer has consumed all experiences or has stopped. Resolves with
 * false if the deadline passes while the trainer is still training and `max_staleness` is not set.
 */
async function trainerIsIdle(parts: SyncParts, signal: AbortSignal | undefined): Promise<boolean> {
  const { state, gate, settings, clock, logger } = parts;
  const { syncTimeoutMs: timeoutMs, maxStaleness } = settings;
  const what = 'the trainer to use up what has been explored';
  const isIdle = (): boolean => state.trainerWaits && parts.starved();
  for (;;) {
    const ready = (): boolean => isIdle() || !state.trainerRuns;
    if (await gate.wait(ready, { what, timeoutMs, clock, signal })) return true;
    const late = `The trainer has not used up what has been explored within ${timeoutMs} ms`;
    if (maxStaleness === undefined) {
      logger.warn(`${late}; exploring continues with the old weights.`);
      return false;
    }
    logger.warn(`${late}; exploring waits, because max_staleness is set.`);
  }
}

async function publish({ transport, state }: SyncParts, weights: Weights): Promise<void> {
  await transport.publish(weights.version, weights.consumedUpTo);
  state.published = weights;
}

async function adopt({ transport, state }: SyncParts): Promise<void> {
  const weights = state.published;
  await transport.adopt(weights.version);
  state.inUse = weights;
}
