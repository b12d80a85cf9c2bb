/** Groups experiences by task and by rollout, in order of first appearance. */
import { choiceArg, runKey, type Experience, groupBy, taskKey } from '@trinity-rft/core';

type Experiences = readonly Experience[];

export const byTask = (experiences: Experiences): readonly Experiences[] => [
  ...groupBy(experiences, ({ eid }) => taskKey(eid)).values(),
];

export const byRun = (experiences: Experiences): readonly Experiences[] => [
  ...groupBy(experiences, ({ eid }) => runKey(eid)).values(),
];

/** Sorts by ascending `eid.step`. */
export const inOrderOfSteps = (run: Experiences): Experiences =>
  run.toSorted((a, b) => a.eid.step - b.eid.step);

/** Argument that selects what is compared within a group: rollouts or single calls. */
export const compareArg = choiceArg(
  ['runs', 'calls'],
  'runs',
  'What is compared within a task: runs, whose reward counts once and whose advantage goes to all their calls, or, as in Trinity-RFT, every model call by itself.',
);
export type Compared = 'runs' | 'calls';

/**
 * Returns what is compared within the group of one task: rollouts (the calls of each by ascending
 * step), or single calls.
 */
export const membersOf = (task: Experiences, compare: Compared): readonly Experiences[] =>
  compare === 'calls' ? task.map((call) => [call]) : byRun(task).map(inOrderOfSteps);
