/** Words of the page of metrics. */
export const words = {
  about:
    'All metrics of the run. Choose one on the left; drag over the curve to zoom, double-click to see all.',
  search: 'Find a metric',
  telling: 'Key metrics',
  runs: 'Runs in the chart',
  without: (run: string) => `Hide ${run}`,
  tooMany: (count: number) => `${count} runs are chosen; the first five are shown.`,
  chart: (metric: string, runs: string) => `Curve of ${metric}: ${runs}`,
  over: 'Over',
  smooth: 'Smoothing',
  log: 'Log scale',
  all: 'Show all',
  save: (type: string) => `Save as ${type}`,
  reading: (share: number) => `Reading the metrics: ${Math.round(share * 100)} %.`,
  noAxis: {
    step: 'No values here.',
    time: 'The times of these steps were not recorded. Choose another axis.',
    tokens: 'No train step has counted its tokens. Choose another axis.',
  },
  none: 'This run has written no metrics yet.',
  choose: 'Choose a run on the Runs page first.',
  table: 'Latest values',
  unexplained:
    'Not in the list of metrics: a number that a workflow or an algorithm of yours reports.',
  low: '95 % low',
  high: '95 % high',
  first: 'First',
  last: 'Last',
  least: 'Smallest',
  most: 'Largest',
  points: 'Points',
} as const;
