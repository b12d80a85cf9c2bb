/** Where a stopped run continues, so that it ends as if it had never been stopped. */
import type { SynchronizerConfig } from '@trinity-rft/config';
import type { ExplorerState } from '@trinity-rft/explorer';
import type { Checkpoint } from '@trinity-rft/trainer';

export interface ResumeInput {
  /** Complete ones, oldest first. */
  readonly checkpoints: readonly Checkpoint[];
  /** Stored with the last explore step; undefined when there was none. */
  readonly explorer: ExplorerState | undefined;
  readonly settings: Pick<SynchronizerConfig, 'syncStyle' | 'syncInterval'>;
  readonly isBoundary: (step: number) => boolean;
}

export interface ResumePoint {
  /** What the trainer loads; undefined = the model that the stage starts from. */
  readonly checkpoint: Checkpoint | undefined;
  readonly trainStep: number;
  /** Version the explorer last used, for the synchronizer. */
  readonly explorerVersion: number;
  /** The explorer has to wait until the trainer has made the weights again that it last used. */
  readonly catchUp: boolean;
}

/**
 * In the fixed style, the next explore step must use exactly the weights that it would have used.
 * At a boundary, these are the next published weights if the trainer got that far; between
 * boundaries, or if the trainer had too little data, they are the explorer's current ones. So the
 * trainer starts from the checkpoint of that publication, or from the newest checkpoint that is not
 * past the explorer's version, and repeats later steps from the stored experiences. An
 * explorer-driven run takes the newest checkpoint.
 */
export function findResumePoint({
  checkpoints,
  explorer,
  settings: { syncStyle, syncInterval },
  isBoundary,
}: ResumeInput): ResumePoint {
  const newestUpTo = (version: number): Checkpoint | undefined =>
    checkpoints.findLast(({ manifest }) => manifest.step <= version);
  if (syncStyle === 'explorer_driven' || !explorer) {
    // Without a stored explore step nothing was trained: there is at most an initial checkpoint.
    const checkpoint = newestUpTo(Infinity);
    const trainStep = checkpoint?.manifest.step ?? 0;
    return { checkpoint, trainStep, explorerVersion: trainStep, catchUp: false };
  }
  const { policyVersion, step } = explorer;
  const next = isBoundary(step)
    ? (Math.floor(policyVersion / syncInterval) + 1) * syncInterval
    : policyVersion;
  const published = checkpoints.find(({ manifest }) => manifest.step === next);
  if (published)
    return {
      checkpoint: published,
      trainStep: next,
      explorerVersion: policyVersion,
      catchUp: false,
    };
  const checkpoint = newestUpTo(policyVersion);
  const trainStep = checkpoint?.manifest.step ?? 0;
  const catchUp = trainStep < policyVersion;
  return {
    checkpoint,
    trainStep,
    explorerVersion: catchUp ? policyVersion - 1 : policyVersion,
    catchUp,
  };
}
