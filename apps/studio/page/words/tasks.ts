/** Texts of the tasks page. */
export const words = {
  about:
    'Mean reward per task: first vs. latest visit, and the change for tasks with more than one. Select a task for its history. Evaluations have a list of their own.',
  choose: 'Choose a run on the Runs page first.',
  none: 'No tasks yet',
  noneText:
    'Tasks appear with the first rollouts of a run that explores task sets. Runs that train on files, and rollouts of a product, have none.',
  counts: (of: Readonly<Record<'tasks' | 'better' | 'worse' | 'same', number>>) =>
    of.better + of.worse + of.same === 0
      ? `${of.tasks} tasks, each visited once so far, so there is no change yet. Those with the lowest reward are first.`
      : `${of.tasks} tasks. Of those visited again, ${of.better} got a higher reward than at first, ${of.worse} a lower one, ${of.same} the same.`,
  reading: (done: number, of: number) => `Looked at ${done} of ${of} model calls ...`,
  more: (shown: number, all: number) => `${shown} of ${all} tasks are shown. Show more`,
  task: (taskset: string, row: number | undefined) => `${taskset} ${row ?? ''}`,
  columns: {
    task: 'Task',
    question: 'Question',
    times: 'Visits',
    first: 'First reward',
    latest: 'Latest reward',
    change: 'Change',
  },
} as const;
