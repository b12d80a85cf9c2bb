/** Structural identity of an experience, and the keys of the groups that it belongs to. */

/**
 * Id of an experience. `batch` is the explore step, `"<step>/<set>"` for evaluation, or
 * `"c<number>"` for a commit of rewarded answers. `task`
 * identifies the task in the batch, `run` the rollout of the task, and `step` the model call of the
 * rollout. `suffix` makes the id unique among the choices of one call.
 */
export interface Eid {
  readonly batch: number | string;
  readonly task: number | string;
  readonly run: number;
  readonly step: number;
  readonly suffix: string;
}

export const emptyEid: Eid = { batch: '', task: '', run: 0, step: 0, suffix: '' };

/** `batch/task`: the key shared by all rollouts of one task. */
export const taskKey = (eid: Eid): string => `${eid.batch}/${eid.task}`;
/** `batch/task/run`: the key shared by all model calls of one rollout. */
export const runKey = (eid: Eid): string => `${taskKey(eid)}/${eid.run}`;
/**
 * `batch/task/step`: the key shared by all model calls with this step number, over all rollouts of
 * one task.
 */
export const stepKey = (eid: Eid): string => `${taskKey(eid)}/${eid.step}`;
/** `batch/task/run/step/suffix`: the unique id of one experience. */
export const uid = (eid: Eid): string => `${runKey(eid)}/${eid.step}/${eid.suffix}`;

/**
 * Partitions `items` by key. Groups are in the order of their first items; items keep their order.
 */
export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** Numbers the keys of ids by first appearance. Equal keys have the same number. */
export function numberKeys(eids: readonly Eid[], keyOf: (eid: Eid) => string): Int32Array {
  const numbers = new Map<string, number>();
  return Int32Array.from(eids, (eid) => {
    const key = keyOf(eid);
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  });
}
