/** Texts of the runs page. */
export const words = {
  about:
    'All runs of the folder, the one that changed last first. Tick two to five of them to compare.',
  notAll: (listed: number, left: number) =>
    `The ${listed} runs that changed last are listed; ${left} older ones are not. Open the studio on a smaller folder to see them.`,
  search: 'Find a run',
  none: 'No runs here yet',
  noneText:
    'Start from a template here, or from a configuration in a terminal. A run appears here by itself.',
  compare: (count: number) => `Compare ${count} runs`,
  tooMany: (most: number) => `At most ${most} runs can be compared.`,
  first: (reward: string) => `from ${reward}`,
  step: (step: number) => `step ${step}`,
  progress: (done: number, total: number) => `${done} of ${total} steps`,
  progressOf: (run: string) => `Progress of ${run}`,
  left: (time: string) => `about ${time} left`,
  noTotal: {
    noSettings: 'Time left not known: the run has recorded no settings.',
    serves: 'No time left: it serves until it is stopped.',
    dynamicSampling:
      'Time left not known: dynamic sampling takes as many tasks as it needs. Set buffer.total_steps.',
    dataElsewhere:
      'Time left not known: rows are counted only in whole JSONL files on this machine, without a task pipeline. Set buffer.total_steps.',
  },
  notes: {
    edit: 'Edit',
    editOf: (run: string) => `tags and note of ${run}`,
    tags: 'Tags, with commas between them',
    note: 'Note',
    save: 'Save',
    cancel: 'Cancel',
  },
  columns: {
    pick: 'Compare',
    name: 'Run',
    state: 'State',
    left: 'Progress',
    evaluation: 'Evaluation',
    reward: 'Reward',
    modelCalls: 'Model calls',
    changed: 'Last change',
    notes: 'Tags and note',
  },
  states: {
    running: 'running',
    finished: 'finished',
    stopped: 'stopped',
    failed: 'failed',
    unknown: 'not running',
  },
} as const;
