/** Moves weights from trainer to explorer in every style except `fixed`, one version at a time. */
import { SyncError } from '@trinity-rft/core';
import { consumedUpTo, publication, type TrainFacts } from './rules/train.js';
import type { Weights } from './rules/settings.js';
import type { DrivenParts } from './sync-parts.js';

export interface Delivery {
  /**
   * Called by the trainer between two train steps. Publishes weights if they are due. Does nothing
   * during `hold`, or while the explorer fetches weights, because a new version would replace the
   * version that is being fetched.
   */
  publishIfDue(): Promise<void>;
  /** Called by the explorer. Switches to the newest weights. */
  adopt(): Promise<void>;
  /**
   * Starts moving weights in the background. While the trainer waits for experiences, publishes
   * weights that are due. In the style `fully_async`, also switches the sampler to the newest
   * weights. A failure rejects all waits of the gate and later calls of `publishIfDue`.
   */
  moveSoon(): void;
  /**
   * Switches to the newest weights and executes `work` with them. Until `work` ends, no weights are
   * published or adopted.
   */
  hold<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export function createDelivery(parts: DrivenParts): Delivery {
  const { state, transport, gate } = parts;
  let publishing: Promise<void> | undefined;
  let adopting: Promise<void> | undefined;
  let failure: { readonly cause: unknown } | undefined;
  let holds = 0;

  const publish = async (weights: Weights): Promise<void> => {
    if (weights.version !== state.published.version)
      await transport.publish(weights.version, weights.consumedUpTo);
    state.published = weights;
    if (weights.version === state.inUse.version) state.inUse = weights;
    gate.notify();
  };
  const adopt = async (): Promise<void> => {
    while (publishing ?? adopting) await (publishing ?? adopting);
    const weights = state.published;
    if (weights.version === state.inUse.version) return;
    adopting = transport.adopt(weights.version).finally(() => (adopting = undefined));
    await adopting;
    state.inUse = state.published.version === weights.version ? state.published : weights;
    state.explorerVersion = weights.version;
    gate.notify();
  };
  const publishIfDue = async (): Promise<void> => {
    if (failure) throw failure.cause;
    if (publishing ?? adopting) return publishing;
    if (holds > 0) return;
    const weights = publication(parts.settings, factsOf(parts));
    if (!weights) return;
    publishing = publish(weights).finally(() => (publishing = undefined));
    await publishing;
  };
  const isStreaming = parts.settings.syncStyle === 'fully_async';
  const moveAll = async (): Promise<void> => {
    for (;;) {
      // A trainer that waits is between two steps. Weights whose publication was delayed can
      // therefore be published now.
      if (state.trainerWaits) await publishIfDue();
      if (!isStreaming || holds > 0 || state.published.version <= state.inUse.version) return;
      await adopt();
    }
  };
  const moveSoon = (): void => {
    if (publishing ?? adopting) return;
    moveAll().catch((cause: unknown) => {
      failure = { cause };
      const reason = 'New weights could not be moved to the sampler.';
      gate.fail(new SyncError(reason, { code: 'SYNC_MOVE_FAILED', cause }));
    });
  };
  return {
    publishIfDue,
    adopt,
    moveSoon,
    hold: async (work) => {
      holds++;
      try {
        await adopt();
        return await work();
      } finally {
        holds--;
        moveSoon();
      }
    },
    close: async () => {
      holds++;
      await Promise.allSettled([publishing, adopting]);
    },
  };
}

function factsOf({ state, starved, oldestUnusedStep }: DrivenParts): TrainFacts {
  const { trainStep, published, storedUpTo, trainerWaits, wanted } = state;
  return {
    trainStep,
    published,
    consumedUpTo: consumedUpTo({
      storedUpTo,
      oldestUnusedStep: oldestUnusedStep(),
      starved: trainerWaits && starved(),
    }),
    begunUpTo: (wanted?.step ?? 1) - 1,
    asksForNewerThan: wanted === undefined ? undefined : state.inUse.version,
  };
}
