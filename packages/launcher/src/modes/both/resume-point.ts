/** Finds the point where a stopped training run continues. */
import type { SynchronizerConfig } from '@trinity-rft/config';
import type { ExplorerState } from '@trinity-rft/explorer';
import type { Checkpoint } from '@trinity-rft/trainer';

export interface ResumeInput {
  /** Complete checkpoints, oldest first. */
  readonly checkpoints: readonly Checkpoint[];
  /** State that was stored with the last explore step; undefined if there is no explore step. */
  readonly explorer: ExplorerState | undefined;
  readonly settings: Pick<SynchronizerConfig, 'syncStyle' | 'explorerSyncInterval' | 'syncOffset'>;
  /**
   * First train step that used an experience of the explorer's last `syncOffset` steps; undefined
   * if there was none. When an explorer waits for weights at a boundary, the trainer has not
   * received these experiences yet. A training run that resumes at a boundary therefore loads a
   * checkpoint from before this train step.
   */
  readonly firstTrainStepAfter: number | undefined;
}

export interface ResumePoint {
  /** Checkpoint that the trainer loads; undefined for the initial model. */
  readonly checkpoint: Checkpoint | undefined;
  readonly trainStep: number;
  /** Version of the explorer's last weights, for the synchronizer. */
  readonly explorerVersion: number;
  /** Explore step of the next synchronization point, for the synchronizer. */
  readonly boundary: number;
  /** True if the explorer must wait until the trainer has recreated the explorer's last weights. */
  readonly catchUp: boolean;
}

/**
 * Finds the point to resume from. In the sync style `fixed`, the next explore step must use exactly
 * the weights that an uninterrupted training run would use. Between two synchronization points
 * (boundaries), and for an evaluation that is still due, these are the explorer's last weights. At
 * a boundary, these are the weights that the trainer has after it has consumed all experiences that
 * were released to it. So the trainer starts from the newest checkpoint that is not past these
 * weights, and repeats later steps with the stored experiences.
 *
 * After a server has trained on its commits, the explorer continues with the weights of the newest
 * checkpoint.
 *
 * In the other styles, the trainer starts from the newest checkpoint. It repeats later steps with
 * the same batches, and so gets the same weights. The explorer continues after the last stored
 * explore step, possibly with other weights than in an uninterrupted training run.
 */
export function findResumePoint(input: ResumeInput): ResumePoint {
  const { checkpoints, explorer, settings } = input;
  const { syncStyle, explorerSyncInterval: syncInterval, syncOffset } = settings;
  const step = explorer?.step ?? 0;
  // A boundary at this step is passed only after the evaluation that is due.
  const passed = explorer?.evaluationDue ? step - 1 : step;
  const meetings = Math.max(0, Math.floor((passed - syncOffset) / syncInterval));
  const lastBoundary = syncOffset + meetings * syncInterval;
  const nextBoundary = lastBoundary + syncInterval;
  if (syncStyle !== 'fixed' || !explorer) {
    // If no explore step is stored, nothing was trained. At most an initial checkpoint exists.
    const checkpoint = checkpoints.at(-1);
    const trainStep = checkpoint?.manifest.step ?? 0;
    const explorerVersion = trainStep;
    return { checkpoint, trainStep, explorerVersion, boundary: nextBoundary, catchUp: false };
  }
  const newestUpTo = (version: number): Checkpoint | undefined =>
    checkpoints.findLast(({ manifest }) => manifest.step <= version);
  const newest = checkpoints.at(-1)?.manifest.step ?? 0;
  const explorerVersion = explorer.served ? newest : explorer.policyVersion;
  if (meetings > 0 && step === lastBoundary) {
    const beyond = explorer.served ? Infinity : (input.firstTrainStepAfter ?? Infinity);
    const checkpoint = newestUpTo(beyond - 1);
    const trainStep = checkpoint?.manifest.step ?? 0;
    return { checkpoint, trainStep, explorerVersion, boundary: step, catchUp: false };
  }
  const checkpoint = newestUpTo(explorerVersion);
  const trainStep = checkpoint?.manifest.step ?? 0;
  const catchUp = trainStep < explorerVersion;
  const boundary = catchUp ? lastBoundary : nextBoundary;
  return { checkpoint, trainStep, explorerVersion, boundary, catchUp };
}
