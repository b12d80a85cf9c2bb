/**
 * The style `fixed`, a rendezvous: the trainer does not pass a publication that the explorer has not
 * taken. Which version the explorer gets therefore does not depend on who is faster, and a resumed
 * run meets at the same points.
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
    exploreBoundary: (signal) => exploreBoundary(parts, signal),
    trainStepDone: (signal) => trainStepDone(parts, signal),
  };
}

async function exploreBoundary(
  parts: SyncParts,
  signal: AbortSignal | undefined,
): Promise<SyncResult> {
  const { state, gate, settings, clock, logger } = parts;
  const { syncTimeoutMs: timeoutMs } = settings;
  const version = state.explorerVersion;
  const isStarved = async (): Promise<boolean> => state.trainerWaits && (await parts.starved());
  const arrived = await gate.wait(
    async () => hasNewerWeights(state) || !state.trainerRuns || (await isStarved()),
    {
      what: `weights newer than version ${version} from the trainer`,
      timeoutMs,
      clock,
      signal,
    },
  );
  if (hasNewerWeights(state)) return adopt(parts);
  if (!state.trainerRuns) return { outcome: 'trainer_stopped', version };
  if (arrived) return { outcome: 'starved', version };
  logger.warn(
    `No weights newer than version ${version} within ${timeoutMs} ms; exploring continues with the old ones.`,
  );
  return { outcome: 'timeout', version };
}

async function trainStepDone(parts: SyncParts, signal: AbortSignal | undefined): Promise<void> {
  const { state, gate, settings, clock, logger } = parts;
  const { syncInterval, syncTimeoutMs: timeoutMs } = settings;
  const { trainStep } = state;
  if (trainStep % syncInterval !== 0) return;
  await publish(parts, trainStep);
  gate.notify();
  const taken = await gate.wait(() => state.explorerVersion >= trainStep || !state.explorerRuns, {
    what: `the explorer to take version ${trainStep}`,
    timeoutMs,
    clock,
    signal,
  });
  if (!taken)
    logger.warn(
      `The explorer did not take version ${trainStep} within ${timeoutMs} ms; training continues.`,
    );
}
