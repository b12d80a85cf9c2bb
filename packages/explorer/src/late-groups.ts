/** The groups whose rewards arrive after their explore step. They become part of a later step. */
import { BufferError, type Experience, type Metrics, withFields } from '@trinity-rft/core';
import type { LateRewards, PendingGroup } from '@trinity-rft/core/store';
import type { ExplorerOptions } from './explorer-options.js';
import { isOk, type TaskOutcome } from './runs/outcome.js';

export interface LateGroups {
  /**
   * Removes the groups that no longer wait, because each rollout has a reward or has passed its
   * deadline. Returns their experiences as experiences of explore step `step`.
   * @throws BufferError if the store does not contain a group that waits
   */
  take(step: number): readonly Experience[];
  /** Stores the groups of the step that wait for rewards. */
  setAside(step: number, outcomes: readonly TaskOutcome[]): void;
  /**
   * Returns the tasks that still wait for rewards, for the explorer's state. Returns undefined if
   * no task waits.
   */
  waiting(): readonly string[] | undefined;
  /**
   * Makes the groups that still wait accept rewards, and closes the others. Called after the
   * explorer's state was stored.
   */
  commit(step: number): void;
  /**
   * Restores the waiting tasks from the explorer's state.
   * @throws BufferError if the store does not contain a group of `waiting`
   */
  restore(step: number, waiting: readonly string[]): void;
  /** Returns the metrics of the last `take`, under `rollout/late_rewards/`. */
  metrics(): Metrics;
  /** Waits until no group waits for rewards. */
  untilDue(signal: AbortSignal): Promise<void>;
}

/** Milliseconds between checks for rewards from other processes, once the tasks have ended. */
const lookEveryMs = 500;

export const isPending = ({ runs }: TaskOutcome): boolean =>
  runs.some((run) => isOk(run) && run.rewardDeadline !== undefined);

export function createLateGroups({
  store,
  settings: { failureReward },
  runtime: { clock, logger },
  onProgress,
  onPause,
}: Pick<ExplorerOptions, 'store' | 'settings' | 'runtime' | 'onProgress' | 'onPause'>): LateGroups {
  const rewards: typeof none = store.lateRewards ?? none;
  let waiting: readonly string[] = [];
  let counts = { scored: 0, expired: 0 };
  const findDue = (): readonly PendingGroup[] => {
    if (waiting.length === 0) return [];
    // Read first, so that a reward that arrives in between makes no group look lost.
    const open = rewards.waiting();
    const due = rewards.due(clock.now());
    assertStored(waiting, { open, due });
    return due;
  };
  /** Counts the tasks of open rollouts. Reading the due groups would decode all experiences. */
  const countOpen = (): number => {
    const open = rewards.waiting().filter(({ deadline }) => deadline > clock.now());
    return new Set(open.map(({ run }) => taskOf(run))).size;
  };
  return {
    take: (step) => {
      const due = findDue();
      const taken = new Set(due.map(({ task }) => task));
      waiting = waiting.filter((task) => !taken.has(task));
      const runs = due.flatMap((group) => group.runs);
      const expired = runs.filter(({ reward }) => reward === undefined).length;
      counts = { scored: runs.length - expired, expired };
      return due.flatMap((group) => experiencesOf(group, step, failureReward));
    },
    setAside: (step, outcomes) => {
      const groups = outcomes.filter(isPending).map(({ task, runs }) => ({
        task: `${task.batchId}/${task.taskId}`,
        step,
        runs: runs.filter(isOk).map(({ run, experiences, ...rest }) => ({
          run: `${task.batchId}/${task.taskId}/${run}`,
          reward: rest.rewardDeadline === undefined ? rest.reward : undefined,
          deadline: rest.rewardDeadline ?? 0,
          experiences,
        })),
      }));
      rewards.add(groups);
      waiting = [...waiting, ...groups.map(({ task }) => task)];
    },
    waiting: () => (waiting.length === 0 ? undefined : waiting),
    commit: (step) => rewards.commit(step, waiting),
    restore: (step, tasks) => {
      waiting = tasks;
      rewards.commit(step, tasks);
      findDue();
    },
    metrics: (): Metrics => {
      if (counts.scored + counts.expired + waiting.length === 0) return {};
      return {
        'rollout/late_rewards/waiting_tasks': waiting.length,
        'rollout/late_rewards/scored': counts.scored,
        'rollout/late_rewards/expired': counts.expired,
      };
    },
    untilDue: async (signal) => {
      let shown: { readonly total: number; readonly end: () => void } | undefined;
      const show = (total: number): NonNullable<typeof shown> => {
        const rewarded = `the rewards of ${total} task${total === 1 ? '' : 's'}`;
        if (!shown)
          logger.info(
            `All tasks are explored. Waits for ${rewarded}, at the latest until their deadlines: trinity reward RUN ID VALUE.`,
          );
        shown?.end();
        const what = `waiting for ${rewarded}`;
        onProgress?.({ what, total });
        const endPause = onPause?.(rewarded);
        return {
          total,
          end: () => {
            endPause?.();
            onProgress?.({ what, total, done: total });
          },
        };
      };
      try {
        for (let total = countOpen(); total > 0; total = countOpen()) {
          if (total !== shown?.total) shown = show(total);
          await clock.sleep(lookEveryMs, signal);
        }
      } finally {
        shown?.end();
      }
    },
  };
}

/** Returns the task `batch/task` of a rollout `batch/task/run`. */
const taskOf = (run: string): string => run.slice(0, run.lastIndexOf('/'));

/**
 * Checks that the store contains every waiting task.
 * @param stored `open`: rollouts that wait for a reward; `due`: groups that no longer wait
 * @throws BufferError if a task is missing
 */
function assertStored(
  waiting: readonly string[],
  stored: {
    readonly open: ReturnType<LateRewards['waiting']>;
    readonly due: readonly PendingGroup[];
  },
): void {
  const tasks = new Set(stored.due.map(({ task }) => task));
  for (const { run } of stored.open) tasks.add(taskOf(run));
  const lost = waiting.filter((task) => !tasks.has(task));
  if (lost.length === 0) return;
  throw new BufferError(
    `${lost.length} tasks that wait for rewards are not stored, such as task ${lost[0]}: late_rewards.db, beside the experience store, has been removed or replaced. Restore it from a copy, or start the run again with another name. Beside a database outside of the folder of the run it is named DATABASE.late_rewards.db; rename that of an earlier version, and the files late_rewards.db-*.`,
    { code: 'LATE_REWARDS_LOST', details: { tasks: lost } },
  );
}

/**
 * Returns the experiences of a group, with their rewards. They belong to the batch of explore step
 * `step`, but have a separate task id, so that the group's advantages are computed within the group
 * only. Returns no experiences if a group of several rollouts has fewer than two rewards.
 */
function experiencesOf(
  { task, runs }: PendingGroup,
  step: number,
  failureReward: number | undefined,
): readonly Experience[] {
  const scored = runs.flatMap(({ experiences, reward = failureReward }) =>
    reward === undefined ? [] : [{ experiences, reward }],
  );
  // A group reduced to one rollout has no advantage signal.
  if (runs.length > 1 && scored.length < 2) return [];
  return scored.flatMap(({ experiences, reward }) =>
    experiences.map((experience) =>
      withFields(experience, {
        reward,
        eid: { ...experience.eid, batch: step, task: `late-${task.replace('/', '-')}` },
        info: { ...experience.info, run: `${task}/${experience.eid.run}` },
      }),
    ),
  );
}

const none: Pick<LateRewards, 'add' | 'due' | 'commit' | 'waiting'> = {
  add: () => undefined,
  due: () => [],
  commit: () => undefined,
  waiting: () => [],
};
