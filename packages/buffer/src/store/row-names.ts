/**
 * Reads the parts of a stored row's uid, `batch/task/run/step/suffix`. The part `batch` is the
 * number of the explore step, or names a commit of rewarded answers, such as `c8`.
 */
import type { StoredRow } from './row-driver.js';

export const exploreStepOf = ({ uid }: Pick<StoredRow, 'uid'>): string =>
  uid.slice(0, uid.indexOf('/'));
/** Returns the explore step; 0 for a commit, which belongs to none. */
export const stepNumberOf = (row: Pick<StoredRow, 'uid'>): number =>
  Number(exploreStepOf(row)) || 0;
export const runOf = ({ uid }: Pick<StoredRow, 'uid'>): string => withoutLast(uid, 2);
export const taskOf = ({ uid }: Pick<StoredRow, 'uid'>): string => withoutLast(uid, 3);

const withoutLast = (uid: string, parts: number): string =>
  parts === 0 ? uid : withoutLast(uid.slice(0, uid.lastIndexOf('/')), parts - 1);
