/** Texts of the diagnosis page. */
export const words = {
  about:
    'Problems that keep the run from learning, found by the rules of "trinity doctor" over its metrics and newest rollouts.',
  choose: 'Choose a run on the Runs page first.',
  found: (count: number) =>
    count === 0 ? 'No problem found.' : count === 1 ? '1 finding.' : `${count} findings.`,
  looked: (rules: number, rollouts: number) =>
    `${rules} rules checked the metrics and the newest ${rollouts === 1 ? 'rollout' : `${rollouts} rollouts`}.`,
  change: 'Recommendation:',
  rule: (name: string, when: string) => `Rule ${name}: ${when}.`,
  steps: (from: number, to: number) => `(steps ${from} to ${to})`,
  metrics: 'Related metrics',
  rollouts: 'Related rollouts:',
  list: 'show all',
  rollout: (id: number) => `#${id}`,
} as const;
