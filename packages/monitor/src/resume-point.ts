/** The step from which the metrics of a resumed run continue. */
import type { MetricRole } from '@trinity-rft/core';

/**
 * For each role the last step whose metrics are kept. Later steps are repeated and recorded again;
 * a role without an entry keeps all its records.
 */
export type ResumePoint = Readonly<Partial<Record<MetricRole, number>>> & {
  /**
   * True if the run had finished and is continued with more steps: the evaluation and the late
   * rewards recorded at its end are kept, because they are not repeated.
   * @default false
   */
  readonly hadEnded?: boolean;
};
