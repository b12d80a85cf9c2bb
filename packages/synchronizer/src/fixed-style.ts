/**
 * The style `fixed`, a rendezvous in units of explore steps: at a boundary the explorer waits until
 * the trainer has used up everything that was explored before (except the last `syncOffset` steps),
 * and takes the weights of that moment; until then the trainer gets nothing later. Which version an
 * explore step sees therefore depends neither on who is faster nor on how many train steps an
 * explore step makes, and a resumed run meets at the same points.
 */
import {
  adopt,
  hasNewerWeights,
  publish,
  type Style,
  type SyncParts,
  type SyncResult,
} from './sync-parts.js';

export function fixedStyle(parts: SyncParts): Style {
  return {
    start: () => release(parts),
    exploreBoundary: async (signal) => {
      const result = await exploreBoundary(parts, signal);
      parts.state.boundary += parts.settings.syncInterval;
      release(parts);
      return result;
    },
    trainStepDone: () => Promise.resolve(),
  };
}

function release({ state, settings, releaseUpTo }: SyncParts): void {
  releaseUpTo(state.boundary - settings.syncOffset);
}

async function exploreBoundary(
  parts: SyncParts,
  signal: AbortSignal | undefined,
): Promise<SyncResult> {
  const { state, gate, settings, clock, logger } = parts;
  const { syncTimeoutMs: timeoutMs } = settings;
  const version = state.explorerVersion;
  const isIdle = (): boolean => state.trainerWaits && parts.starved();
  const arrived = await gate.wait(() => isIdle() || !state.trainerRuns, {
    what: 'the trainer to use up what has been explored',
    timeoutMs,
    clock,
    signal,
  });
  if (!arrived) {
    logger.warn(
      `The trainer has not used up what has been explored within ${timeoutMs} ms; exploring continues with the old weights.`,
    );
    return { outcome: 'timeout', version };
  }
  if (!state.trainerRuns) return { outcome: 'trainer_stopped', version };
  if (state.trainStep > state.publishedVersion) await publish(parts, state.trainStep);
  const outcome = hasNewerWeights(state) ? 'updated' : 'starved';
  // A resumed trainer may just have made the weights again that the explorer used before.
  if (state.publishedVersion !== state.adoptedVersion) await adopt(parts);
  state.explorerVersion = state.publishedVersion;
  return { outcome, version: state.explorerVersion };
}
