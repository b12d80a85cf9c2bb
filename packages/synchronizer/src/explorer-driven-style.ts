/**
 * The style `explorer_driven`: the trainer never waits. A request of the explorer that finds no new
 * train step is answered with the weights it has.
 */
import {
  adopt,
  hasNewerWeights,
  publish,
  type Style,
  type SyncParts,
  type SyncResult,
} from './sync-parts.js';

export function explorerDrivenStyle(parts: SyncParts): Style {
  const { state } = parts;
  let publishing: Promise<void> | undefined;
  const answer = async (): Promise<void> => {
    if (!state.explorerAsks || state.trainStep <= state.publishedVersion) return;
    publishing ??= publish(parts, state.trainStep).finally(() => {
      publishing = undefined;
    });
    await publishing;
  };
  return {
    start: () => undefined,
    exploreBoundary: (signal) => exploreBoundary(parts, answer, signal),
    trainStepDone: answer,
  };
}

async function exploreBoundary(
  parts: SyncParts,
  answer: () => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<SyncResult> {
  const { state, gate, settings, clock, logger } = parts;
  const { syncTimeoutMs: timeoutMs } = settings;
  const askedAt = state.trainStep;
  const arrived = await gate.wait(
    async () => {
      // A trainer that waits for experiences is between two steps, so it can answer at once.
      if (state.trainerWaits) await answer();
      return (
        hasNewerWeights(state) ||
        state.trainerWaits ||
        state.trainStep > askedAt ||
        !state.trainerRuns
      );
    },
    { what: 'the trainer to finish its step', timeoutMs, clock, signal },
  );
  // The request is answered: another publication would replace the weights while they are fetched.
  state.explorerAsks = false;
  if (hasNewerWeights(state)) return adopt(parts);
  const version = state.explorerVersion;
  if (!arrived) {
    logger.warn(
      `The trainer did not finish its step within ${timeoutMs} ms; exploring continues with the old weights.`,
    );
    return { outcome: 'timeout', version };
  }
  return { outcome: state.trainerRuns ? 'unchanged' : 'trainer_stopped', version };
}
