/** Where the metrics of a resumed run continue. */
import type { MetricRole } from '@trinity-rft/core';

/**
 * Per role the last step whose metrics stay. Records of later steps are written again; a role that
 * is not named keeps all its records.
 */
export type ResumePoint = Readonly<Partial<Record<MetricRole, number>>> & {
  /**
   * The run had ended and has become longer: the evaluation and the late rewards with which it ended
   * are not repeated. @default false
   */
  readonly hadEnded?: boolean;
};
