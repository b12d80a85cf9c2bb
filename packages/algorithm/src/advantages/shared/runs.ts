/** Experiences by task and by run; both keep the order of first appearance. */
import { runKey, type Experience } from '@trinity-rft/core';
import { groupBy, taskKey } from '@trinity-rft/core/internal';

type Experiences = readonly Experience[];

export const byTask = (experiences: Experiences): readonly Experiences[] => [
  ...groupBy(experiences, ({ eid }) => taskKey(eid)).values(),
];

export const byRun = (experiences: Experiences): readonly Experiences[] => [
  ...groupBy(experiences, ({ eid }) => runKey(eid)).values(),
];

/** By rising `eid.step`. */
export const inOrderOfSteps = (run: Experiences): Experiences =>
  run.toSorted((a, b) => a.eid.step - b.eid.step);
