/** The result of a verification. */

/** The recorded token that differs most. */
export interface Worst {
  /** `batch/task/run/step/suffix` of the experience. */
  readonly uid: string;
  /** `eid.step` of the call. */
  readonly step: number;
  /** Position among the response tokens. */
  readonly token: number;
  readonly recorded: number;
  readonly recomputed: number;
}

/** One policy version of a store. */
export interface VerifiedVersion {
  readonly policyVersion: number;
  /** Number of sampled tokens recorded under it. */
  readonly tokens: number;
  /** Folder of the weights. */
  readonly weights?: string;
  /** Why it could not be checked. Then it has no differences either. */
  readonly unchecked?: string;
  /** Largest |recorded - recomputed| log-probability. */
  readonly largest?: number;
  readonly mean?: number;
  readonly worst?: Worst;
}

/** The experience store of a stage. */
export interface VerifiedStore {
  readonly database: string;
  readonly versions: readonly VerifiedVersion[];
}

export interface Verification {
  readonly tolerance: number;
  readonly stores: readonly VerifiedStore[];
  readonly checkedTokens: number;
  readonly uncheckedTokens: number;
  /** Over all checked tokens; 0 if there are none. */
  readonly largest: number;
  /** Tokens were checked, and none differs by more than the tolerance. */
  readonly ok: boolean;
}
