/** What the list and the details of an experience both show. */
import { type Experience } from '@trinity-rft/core';
import { uid } from '@trinity-rft/core/internal';

export interface ExperienceHead {
  /** Row of the store, from 1. */
  readonly id: number;
  readonly uid: string;
  readonly batch: string;
  readonly task: string;
  readonly run: number;
  readonly reward?: number;
  readonly policyVersion: number;
  readonly truncated?: string;
}

export function headOf(
  id: number,
  { eid, reward, policyVersion, truncateStatus }: Experience,
): ExperienceHead {
  return {
    id,
    uid: uid(eid),
    batch: String(eid.batch),
    task: String(eid.task),
    run: eid.run,
    reward,
    policyVersion,
    truncated: truncateStatus,
  };
}
