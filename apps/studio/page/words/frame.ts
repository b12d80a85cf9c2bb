/** Words of the frame, and those that several pages share. */
export const words = {
  title: 'Studio',
  skip: 'Skip to the content',
  run: 'Run',
  evaluations: 'Show those of its evaluations',
  connecting: 'Connecting ...',
  live: 'Live',
  reconnecting: 'Connection lost. Trying again ...',
  noKey:
    'This page has no key. Open the complete address that trinity studio printed, with the part after #.',
  pages: {
    runs: 'Runs',
    curves: 'Curves',
    compare: 'Compare',
    tasks: 'Tasks',
    rollouts: 'Rollouts',
    diagnosis: 'Diagnosis',
    whatIf: 'What if',
    processes: 'Processes',
    builder: 'Builder',
    playground: 'Playground',
  },
  axes: { step: 'Step', time: 'Seconds', tokens: 'Tokens trained on' },
} as const;
