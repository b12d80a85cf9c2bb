import type { MetricRole } from '@trinity-rft/core';

/**
 * The last step of each role whose metrics are kept when a training run is resumed. Later steps are
 * run and recorded again. All records of a role without an entry are kept.
 */
export type ResumePoint = Readonly<Partial<Record<MetricRole, number>>> & {
  /**
   * True if the training run had finished and is now continued with more steps. The final
   * evaluation and late rewards are then kept, because they are not repeated.
   * @default false
   */
  readonly hadEnded?: boolean;
  /**
   * True if the evaluation after the explorer's last step is made again. Of that step, only the
   * record of its rollouts is then kept.
   * @default false
   */
  readonly evaluationDue?: boolean | undefined;
};
