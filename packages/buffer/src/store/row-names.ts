/**
 * Reads the parts of a stored row's uid, `batch/task/run/step/suffix`. The part `batch` is the
 * number of the explore step.
 */
import type { StoredRow } from './row-driver.js';

export const exploreStepOf = ({ uid }: Pick<StoredRow, 'uid'>): string =>
  uid.slice(0, uid.indexOf('/'));
export const runOf = ({ uid }: Pick<StoredRow, 'uid'>): string => withoutLast(uid, 2);
export const taskOf = ({ uid }: Pick<StoredRow, 'uid'>): string => withoutLast(uid, 3);

const withoutLast = (uid: string, parts: number): string =>
  parts === 0 ? uid : withoutLast(uid.slice(0, uid.lastIndexOf('/')), parts - 1);
