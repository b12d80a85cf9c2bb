/** Words of the page of findings. */
export const words = {
  about:
    'Problems that keep the run from learning, found by the rules of "trinity doctor" over its metrics and newest rollouts.',
  choose: 'Choose a run on the Runs page first.',
  looking: 'Looking ...',
  found: (count: number) =>
    count === 0 ? 'Nothing found.' : count === 1 ? 'One finding.' : `${count} findings.`,
  looked: (rules: number, rollouts: number) =>
    `${rules} rules looked at the metrics and the newest ${rollouts} rollouts.`,
  change: 'What to change:',
  rule: (name: string, when: string) => `Rule ${name}: ${when}.`,
  steps: (from: number, to: number) => `(steps ${from} to ${to})`,
  rollouts: 'Rollouts to look at:',
  list: 'in the list',
  rollout: (id: number) => `#${id}`,
} as const;
