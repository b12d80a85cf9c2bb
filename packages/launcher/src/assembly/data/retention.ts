/** Deletes experiences that were trained on long ago and that a resumed stage cannot need. */
import type { StageConfig } from '@trinity-rft/config';
import type { ExperienceStore } from '@trinity-rft/core/store';
import type { ExplorerState } from '@trinity-rft/explorer';
import { listCheckpoints } from '@trinity-rft/trainer';

/**
 * Returns a function that deletes experiences that are no longer needed, to be called after each
 * checkpoint. Returns undefined if all experiences are kept.
 */
export function retention(
  { buffer, jobDirectory }: StageConfig,
  store: ExperienceStore,
): ((step: number) => Promise<void>) | undefined {
  const config = buffer.trainerInput.experienceBuffer;
  const keep = config.storageType === 'file' ? undefined : config.keepTrainedSteps;
  if (keep === undefined) return undefined;
  return async (step) => {
    const state = (await store.explorerState()) as ExplorerState | undefined;
    const policyVersion = !state || state.served ? step : state.policyVersion;
    // A resumed stage starts from the newest of these checkpoints, or from the second newest if the
    // newest is damaged.
    const usable = (await listCheckpoints(jobDirectory)).filter(
      ({ manifest }) => manifest.step <= policyVersion,
    );
    const earliest = (usable.at(-2) ?? usable.at(-1))?.manifest.step ?? 0;
    const last = Math.min(earliest, step - keep);
    if (last > 0) await store.prune(last);
  };
}
