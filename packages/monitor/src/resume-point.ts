import type { MetricRole } from '@trinity-rft/core';

/**
 * The last step, per role, whose metrics are kept. Later steps are repeated and recorded again. A
 * role without an entry keeps all its records.
 */
export type ResumePoint = Readonly<Partial<Record<MetricRole, number>>> & {
  /**
   * True if the training run had finished and is continued with more steps. The evaluation and the
   * late rewards recorded at its end are then kept, because they are not repeated.
   * @default false
   */
  readonly hadEnded?: boolean;
};
