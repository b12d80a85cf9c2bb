/** The result of a verification. */

/** Recorded token with the largest difference. */
export interface Worst {
  /** Uid of the experience: `batch/task/run/step/suffix`. */
  readonly uid: string;
  /** Index of the call in its rollout (`eid.step`). */
  readonly step: number;
  /** Index of the token in the response. */
  readonly token: number;
  readonly recorded: number;
  readonly recomputed: number;
}

/** Result for one policy version of a store. */
export interface VerifiedVersion {
  readonly policyVersion: number;
  /** Number of recorded tokens that this version sampled. */
  readonly tokens: number;
  /** Folder of the weights. */
  readonly weights?: string;
  /** Reason why the version could not be checked; the differences are then absent. */
  readonly unchecked?: string;
  /** Largest absolute difference between a recorded and a recomputed log-probability. */
  readonly largest?: number;
  readonly mean?: number;
  readonly worst?: Worst;
}

/** Result for the experience store of a stage. */
export interface VerifiedStore {
  readonly database: string;
  readonly versions: readonly VerifiedVersion[];
}

export interface Verification {
  readonly tolerance: number;
  readonly stores: readonly VerifiedStore[];
  readonly checkedTokens: number;
  readonly uncheckedTokens: number;
  /**
   * Largest absolute difference between recorded and recomputed log-probabilities, over all checked
   * tokens; 0 if none was checked.
   */
  readonly largest: number;
  /** True if tokens were checked and none differs by more than the tolerance. */
  readonly ok: boolean;
}
