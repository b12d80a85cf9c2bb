/** Where a run that was stopped anywhere goes on, so that it ends as if it had not been stopped. */
import type { ExplorerState } from '@trinity-rft/explorer';
import type { Checkpoint } from '@trinity-rft/trainer';

export interface ResumeInput {
  /** Complete ones, oldest first. */
  readonly checkpoints: readonly Checkpoint[];
  /** Stored with the last explore step; undefined when none was made. */
  readonly explorer: ExplorerState | undefined;
  readonly style: 'fixed' | 'explorer_driven';
  readonly interval: number;
  readonly isBoundary: (step: number) => boolean;
}

export interface ResumePoint {
  /** What the trainer loads; undefined = the model the stage began with. */
  readonly checkpoint: Checkpoint | undefined;
  readonly trainStep: number;
  /** Version the explorer last used, for the synchronizer. */
  readonly explorerVersion: number;
  /**
   * Before anything else the explorer needs the weights it had, which the trainer has yet to make
   * again.
   */
  readonly catchUp: boolean;
}

/**
 * In the fixed style the next explore step must see the very weights that it would have seen. At a
 * boundary those are the next publication, if the trainer got that far, else the explorer's own,
 * which it keeps when the trainer has too little data; between boundaries they are its own. So the
 * trainer starts from the checkpoint of that publication, or from the newest one that is not past
 * the explorer's version, and makes the later steps again from the stored experiences. An
 * explorer-driven run takes the newest.
 */
export function findResumePoint({
  checkpoints,
  explorer,
  style,
  interval,
  isBoundary,
}: ResumeInput): ResumePoint {
  const newestUpTo = (version: number): Checkpoint | undefined =>
    checkpoints.findLast(({ manifest }) => manifest.step <= version);
  if (style === 'explorer_driven' || !explorer) {
    // Without a stored explore step nothing was trained on either: only an initial checkpoint can
    // be there.
    const checkpoint = newestUpTo(Infinity);
    const trainStep = checkpoint?.manifest.step ?? 0;
    return { checkpoint, trainStep, explorerVersion: trainStep, catchUp: false };
  }
  const { policyVersion, step } = explorer;
  const next = isBoundary(step)
    ? (Math.floor(policyVersion / interval) + 1) * interval
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
