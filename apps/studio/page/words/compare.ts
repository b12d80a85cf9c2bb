/** Texts of the page that compares runs. */
export const words = {
  about:
    'Two to five runs side by side: their key metrics as curves, the settings that differ, and the latest value of every metric with its interval.',
  choose: 'Choose two to five runs',
  chosen: (count: number, most: number) => `${count} of at most ${most} chosen`,
  more: (shown: number, all: number) => `The first ${shown} of ${all}. Search for the others.`,
  noRuns: 'No runs to compare yet',
  noRunsText: 'Start two runs that differ in one setting, such as the learning rate.',
  curves: 'Key metrics',
  allCurves: 'All curves of these runs',
  settings: 'Settings',
  setting: 'Setting',
  noSettings: (runs: string) => `No settings recorded: ${runs}.`,
  different: (different: number, all: number) => `${different} of ${all} settings differ.`,
  showAll: 'Show all',
  numbers: 'Latest values',
  metric: 'Metric',
  aboutNumbers:
    'Mean of the latest 20 values with its 95 % interval, assuming independent values; for evaluations, the last value with its recorded interval. A bar marks rows where the intervals of two runs do not overlap. Search to find largest and smallest values and deviations.',
  apart: '(they differ)',
} as const;
