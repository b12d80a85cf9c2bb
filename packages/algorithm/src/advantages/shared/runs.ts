/** Experiences by task and by run; both keep the order of first appearance. */
import { choiceArg, runKey, type Experience, groupBy, taskKey } from '@trinity-rft/core';

type Experiences = readonly Experience[];

export const byTask = (experiences: Experiences): readonly Experiences[] => [
  ...groupBy(experiences, ({ eid }) => taskKey(eid)).values(),
];

export const byRun = (experiences: Experiences): readonly Experiences[] => [
  ...groupBy(experiences, ({ eid }) => runKey(eid)).values(),
];

/** In order of rising `eid.step`. */
export const inOrderOfSteps = (run: Experiences): Experiences =>
  run.toSorted((a, b) => a.eid.step - b.eid.step);

/** Members of a group. */
export const compareArg = choiceArg(
  ['runs', 'calls'],
  'runs',
  'What is compared within a task: runs, whose reward counts once and whose advantage goes to all their calls, or, as in Trinity-RFT, every model call by itself.',
);
export type Compared = 'runs' | 'calls';

/** The members of the group of one task: calls of each run by rising step, or calls one by one. */
export const membersOf = (task: Experiences, compare: Compared): readonly Experiences[] =>
  compare === 'calls' ? task.map((call) => [call]) : byRun(task).map(inOrderOfSteps);
