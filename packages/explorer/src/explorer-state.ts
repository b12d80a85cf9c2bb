/** Where an explorer stands. */
import type { JsonState } from '@trinity-rft/core';

/** Stored with each explore step. */
export interface ExplorerState {
  readonly step: number;
  /** Weights that made the step. */
  readonly policyVersion: number;
  readonly feed: JsonState;
}
