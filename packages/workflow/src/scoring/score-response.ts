/** Calling reward functions: checks the result, sums its parts, and attributes errors to them. */
import {
  taskPrompt,
  taskTruth,
  type ChatResponse,
  type Metrics,
  type RewardFn,
  type RewardInput,
  type Task,
} from '@trinity-rft/core';
import { boundary, isUsableReward, RewardError, usableReward } from '@trinity-rft/core/internal';

export interface Score {
  /** Sum of the parts. */
  readonly reward: number;
  readonly parts: Metrics;
}

/**
 * Scores one response to `task`. Rewards for length and format need the `details`.
 * @throws RewardError when the function throws or returns anything but usable numbers
 */
export async function scoreResponse(
  rewardFn: RewardFn,
  task: Task,
  response: string,
  details: Pick<RewardInput, 'responseTokens' | 'reasoning'> = {},
): Promise<Score> {
  const input = {
    response,
    truth: taskTruth(task),
    prompt: taskPrompt(task),
    rawTask: task.rawTask,
    ...details,
  };
  const name = `Reward function "${task.rewardFn ?? 'default'}"`;
  const place = `task ${task.batchId}/${task.taskId}`;
  const result = await boundary(
    (cause) => new RewardError(`${name} threw on ${place}.`, { code: 'REWARD_THREW', cause }),
    () => rewardFn(input),
  );
  const parts: Metrics = typeof result === 'number' ? { reward: result } : result;
  const refuse = (value: number, what: string): RewardError =>
    new RewardError(
      `${name} returned ${String(value)}${what} on ${place}; expected ${usableReward}.`,
      {
        code: 'REWARD_NOT_FINITE',
      },
    );
  for (const [part, value] of Object.entries(parts))
    if (!isUsableReward(value)) throw refuse(value, ` for "${part}"`);
  const reward = Object.values(parts).reduce((sum, value) => sum + value, 0);
  if (!isUsableReward(reward)) throw refuse(reward, ' as the sum of its parts');
  return { reward, parts: typeof result === 'number' ? {} : parts };
}

/** {@link scoreResponse} for a response of `chat`, with its reasoning and its number of tokens. */
export const scoreChoice = (rewardFn: RewardFn, task: Task, choice: ChatResponse): Promise<Score> =>
  scoreResponse(rewardFn, task, choice.responseText, {
    responseTokens: choice.tokens.length - choice.promptLength,
    reasoning: choice.reasoningText,
  });
