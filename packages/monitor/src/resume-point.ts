/** Where a resumed run goes on, as far as metrics are concerned. */
import type { MetricRole } from '@trinity-rft/core';

/**
 * Per role the last step whose metrics stay. Records of a later step are made again; a role that is
 * not named keeps all of its own.
 */
export type ResumePoint = Readonly<Partial<Record<MetricRole, number>>>;
