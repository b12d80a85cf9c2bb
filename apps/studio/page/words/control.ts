/** Texts for stopping and resuming a run. */
export const words = {
  no: 'No',
  stop: {
    label: 'Stop',
    sure: 'It finishes its step, saves its progress and ends. Asked again, it ends at once.',
    yes: 'Yes, stop it',
    busy: 'Stopping ...',
    done: (pid: number) =>
      `Process ${pid} finishes its step, saves its progress and ends. Stop again to end it at once.`,
  },
  resume: {
    label: 'Resume',
    sure: 'It continues from its last checkpoint, with the current content of its configuration.',
    yes: 'Yes, resume it',
    busy: 'Looking for its configuration ...',
    done: (pid: number) => `Resumed as process ${pid}.`,
  },
  ended: (code: number | null, output: string) =>
    `It ${code === null ? 'was killed' : `ended with exit code ${code}`}: ${output}`,
} as const;
