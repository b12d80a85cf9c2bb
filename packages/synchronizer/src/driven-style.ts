/**
 * The styles `explorer_driven`, `trainer_driven` and `fully_async`. The trainer never waits at a
 * synchronization point. The explorer waits if a staleness bound requires it, and in
 * `explorer_driven` also until the trainer is between two train steps.
 */
import { exploreTurn, type ExploreTurn } from './rules/explore.js';
import { boundaryBefore, neededFor } from './rules/settings.js';
import { createDelivery, type Delivery } from './delivery.js';
import {
  type Streaming,
  type Style,
  type SyncOutcome,
  type DrivenParts,
  type SyncResult,
} from './sync-parts.js';

export function drivenStyle(parts: DrivenParts): Style {
  const delivery = createDelivery(parts);
  const isStreaming = parts.settings.syncStyle === 'fully_async';
  return {
    release: () => parts.releaseUpTo(parts.state.held - 1),
    isBoundary: (step) => !isStreaming && turnOf(parts, step + 1).kind !== 'begin',
    exploreBoundary: (step, signal) => exploreBoundary(parts, delivery, { step: step + 1, signal }),
    trainStepDone: async () => {
      await delivery.publishIfDue();
      if (isStreaming) delivery.moveSoon();
    },
    streaming: isStreaming ? streaming(parts, delivery) : undefined,
    withSteadyWeights: (work) => delivery.hold(work),
    close: () => delivery.close(),
  };
}

function turnOf({ settings, state }: DrivenParts, step: number, answered = false): ExploreTurn {
  const { inUse, published, lastSyncPoint } = state;
  return exploreTurn(settings, step, { inUse, published, lastSyncPoint, answered });
}

interface Wanted {
  readonly step: number;
  readonly signal: AbortSignal | undefined;
}

async function exploreBoundary(
  parts: DrivenParts,
  delivery: Delivery,
  { step, signal }: Wanted,
): Promise<SyncResult> {
  const { state, settings } = parts;
  const askedAt = state.trainStep;
  const turn = (): ExploreTurn =>
    turnOf(parts, step, state.trainerWaits || state.trainStep > askedAt);
  const arrived = await waitFor(parts, delivery, {
    step,
    signal,
    turn,
    // At the deadline, exploring continues without an answer from the trainer if `max_staleness`
    // allows it.
    mayGoOn: () => turnOf(parts, step, true).kind !== 'wait',
  });
  state.lastSyncPoint = boundaryBefore(settings, step);
  const updated = state.published.version > state.inUse.version;
  if (updated) await delivery.adopt();
  return { outcome: outcomeOf(updated, arrived, parts), version: state.inUse.version };
}

function outcomeOf(updated: boolean, arrived: boolean, { state }: DrivenParts): SyncOutcome {
  if (updated) return 'updated';
  if (!arrived) return 'timeout';
  return state.trainerRuns ? 'unchanged' : 'trainer_stopped';
}

interface Turns extends Wanted {
  readonly turn: () => ExploreTurn;
  /**
   * Called each time the deadline passes. Returns true if exploration may continue with the old
   * weights.
   */
  readonly mayGoOn: () => boolean;
}

/**
 * Waits until explore step `step` may begin or the trainer has stopped. Resolves with false if the
 * wait ended at a deadline, otherwise with true.
 */
async function waitFor(
  { state, gate, settings, clock, logger }: DrivenParts,
  delivery: Delivery,
  wait: Turns,
): Promise<boolean> {
  const { step, signal, turn, mayGoOn } = wait;
  const { syncTimeoutMs: timeoutMs } = settings;
  state.wanted = wait;
  try {
    for (;;) {
      const first = turn();
      const what = first.kind === 'wait' ? first.what : `the weights for explore step ${step}`;
      const ready = async (): Promise<boolean> => {
        // A trainer that waits for experiences is between two steps, so it can publish at once.
        if (state.trainerWaits) await delivery.publishIfDue();
        return turn().kind !== 'wait' || !state.trainerRuns;
      };
      if (await gate.wait(ready, { what, timeoutMs, clock, signal })) return true;
      const goesOn = mayGoOn();
      const then = goesOn ? 'exploring continues with the old weights' : 'exploring waits on';
      logger.warn(`Explore step ${step} has waited ${timeoutMs} ms for ${what}; ${then}.`);
      if (goesOn) return false;
    }
  } finally {
    // An aborted wait may end after the next one has begun.
    if (state.wanted === wait) state.wanted = undefined;
  }
}

function streaming(parts: DrivenParts, delivery: Delivery): Streaming {
  const { settings, state } = parts;
  const mayBegin = (step: number): boolean =>
    !state.trainerRuns || state.inUse.consumedUpTo >= neededFor(settings, step);
  const turn = (step: number): ExploreTurn => {
    delivery.moveSoon();
    const found = turnOf(parts, step);
    return mayBegin(step) || found.kind === 'wait'
      ? found
      : { kind: 'wait', what: `version ${found.weights.version} to reach the sampler` };
  };
  return {
    mayBegin,
    whenItMay: async (step, signal) => {
      await waitFor(parts, delivery, {
        step,
        signal,
        turn: () => turn(step),
        mayGoOn: () => false,
      });
    },
  };
}
