/** Words of the page of findings. */
export const words = {
  about:
    'Problems that keep the run from learning, found by the rules of "trinity doctor" over its metrics and newest rollouts.',
  choose: 'Choose a run on the Runs page first.',
  found: (count: number) =>
    count === 0 ? 'No problem found.' : count === 1 ? '1 finding.' : `${count} findings.`,
  looked: (rules: number, rollouts: number) =>
    `${rules} rules checked the metrics and the newest ${rollouts} rollouts.`,
  change: 'What to change:',
  rule: (name: string, when: string) => `Rule ${name}: ${when}.`,
  steps: (from: number, to: number) => `(steps ${from} to ${to})`,
  metrics: 'Metrics that show it',
  rollouts: 'Rollouts that show it:',
  list: 'all in the list',
  rollout: (id: number) => `#${id}`,
} as const;
