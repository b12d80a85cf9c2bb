/** Texts of the workers page. */
export const words = {
  about:
    'Current state of the processes of the run, as in "trinity status" and "trinity why". An arrow leads from a waiting process to what it waits for.',
  choose: 'Choose a run on the Runs page first.',
  picture: 'Wait graph; the text below says the same',
  why: 'Waits and their causes',
  table: 'Processes',
  columns: ['Part', 'Process', 'State', 'Weights', 'Waits for', 'Works on'],
  exploreStep: (step: number) => `explore step ${step}`,
  trainStep: (step: number) => `train step ${step}`,
  staleness: (steps: number) => `staleness ${steps} train steps`,
  none: 'No process is waiting.',
  noProcess: 'No process is running',
  noStatus: 'The process of this run writes no status',
  over: 'While a run is in progress, its processes and what each waits for are shown here.',
  durations: 'Step durations',
  duration: 'trainer time/step',
  ended: (step: number) => `The run is complete: train step ${step} was its last.`,
  health: { working: 'at work', waiting: 'waits', silent: 'silent', left: 'has left' },
  weights: (version: number) => `, weights ${version}`,
  missing: 'is not there',
  outside: 'outside the run',
  seconds: (ms: number) =>
    ms < 120_000 ? `for ${(ms / 1000).toFixed(0)} s` : `for ${Math.round(ms / 60_000)} min`,
  waitsFor: (what: string, time: string) => `waits for ${what}, ${time}: `,
  waits: (what: string, on: string | undefined, time: string) =>
    `${what}${on === undefined ? '' : ` (${on})`}, ${time}`,
  processOn: (pid: number, host: string) => `${pid} on ${host}`,
  causes: {
    waits: (who: string) => `${who} waits.`,
    works: (who: string) => `${who} is at work.`,
    silent: (who: string) => `Cause: ${who} is silent.`,
    circle: (who: string) => `Cause: ${who}, which waits itself: a circular wait.`,
    missing: (who: string) =>
      `Cause: there is no ${who}. Start one: trinity run FILE with mode: ${who === 'trainer' ? 'train' : 'explore'}.`,
    outside: () => 'Cause: outside the run.',
  },
  silence: {
    gone: 'its process is gone',
    stopped: 'its process is stopped (SIGSTOP); SIGCONT continues it',
    running: 'its process runs, but sends no heartbeat',
    elsewhere: 'its machine, its process or its connection to the store is down',
  },
} as const;
