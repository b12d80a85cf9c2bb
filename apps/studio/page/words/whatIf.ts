/** Texts of the what-if page. */
export const words = {
  about:
    'Other settings over the newest recorded rollouts, without a model: the ranks of the attempts at each task, and how strong the gradient would be. An empty field keeps the setting of the run.',
  choose: 'Choose a run on the Runs page first.',
  asItIs: 'unchanged',
  examples: { lengthCost: '0.001', drift: '0', steps: '3' },
  fields: {
    algorithm: 'Algorithm',
    advantage: 'Advantage',
    loss: 'Loss',
    number: 'Reward: the number',
    contains: 'Reward: 1 if the answer contains',
    lengthCost: 'Length penalty per token',
    drift: 'Weights have moved by (nats)',
    steps: 'Explore steps',
  },
  fieldHelp: {
    algorithm: 'Its advantage and loss, where they are not chosen here themselves.',
    advantage: 'How rewards become advantages.',
    loss: 'How advantages become a gradient.',
    number: 'A number that the workflow reported with each rollout, in place of the reward.',
    contains:
      'In place of the reward: 1 if the answer has this text, in upper or lower case, else 0.',
    lengthCost: 'Subtracted from the reward per response token, such as 0.001.',
    drift:
      'How far log-probabilities have moved since they were sampled, at random: shows what clipping does. 0 if empty.',
    steps: 'How many of the newest explore steps are looked at: 1 to 20, 3 if empty.',
  },
  try: 'Try',
  nothing: 'Change a setting, then press Try',
  looked: (steps: number, groups: number) =>
    `The newest ${steps === 1 ? 'explore step' : `${steps} explore steps`} with ${groups} ${groups === 1 ? 'group' : 'groups'}.`,
  agreement: (value: string) =>
    value === ''
      ? 'Order of the attempts: not comparable, because one side has none.'
      : `Order of the attempts: agreement ${value} (1: the same, -1: reversed).`,
  signChanges: (share: string) => `${share} % of the runs change the sign of their advantage.`,
  cosine: (value: string) =>
    value === ''
      ? 'One of the gradients is 0.'
      : `Direction of the gradient by the log-probabilities: cosine ${value}.`,
  summary: 'Comparison',
  quantity: 'Quantity',
  before: 'Recorded',
  after: 'Changed',
  of: (count: string, all: number) => `${count} of ${all}`,
  rows: {
    meanReward: 'Mean reward',
    groupsWithSignal: 'Groups with a signal',
    runsWithSignal: 'Runs with a signal',
    meanAbsAdvantage: 'Mean size of the advantage',
    gradientNorm: 'Gradient norm of an explore step',
  },
  groups: 'Groups, most reordered first',
  group: (batch: string, task: string) => `Explore step ${batch}, task ${task}`,
  columns: [
    'Attempt',
    'Reward',
    'Reward, changed',
    'Advantage',
    'Advantage, changed',
    'Rank',
    'Rank, changed',
  ],
} as const;
