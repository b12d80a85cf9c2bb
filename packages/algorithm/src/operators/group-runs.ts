/** The runs of each task, for operators that judge a group as a whole. */
import { groupBy, runKey, taskKey, type Experience } from '@trinity-rft/core';

/** All experiences of one task. */
export interface TaskGroup {
  readonly experiences: readonly Experience[];
  /** Of each run the experience with the highest `eid.step`: what the run came to. */
  readonly outcomes: readonly Experience[];
}

/** Groups keep first-appearance order, as do the experiences in them. */
export function taskGroups(experiences: readonly Experience[]): readonly TaskGroup[] {
  return [...groupBy(experiences, ({ eid }) => taskKey(eid)).values()].map((members) => ({
    experiences: members,
    outcomes: [...groupBy(members, ({ eid }) => runKey(eid)).values()].map(lastStep),
  }));
}

const lastStep = (run: readonly Experience[]): Experience =>
  run.reduce((last, next) => (next.eid.step >= last.eid.step ? next : last));
