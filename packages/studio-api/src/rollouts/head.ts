/** What the list and the details of an experience both show. */
import { type Experience } from '@trinity-rft/core';
import { uid } from '@trinity-rft/core/internal';
import type { RolloutDetail } from '../interface/types.js';

export function headOf(
  id: number,
  { eid, reward, policyVersion, truncateStatus }: Experience,
): Pick<
  RolloutDetail,
  'id' | 'uid' | 'batch' | 'task' | 'run' | 'reward' | 'policyVersion' | 'truncated'
> {
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
