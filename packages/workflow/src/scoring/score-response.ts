/**
 * Calling reward functions: parts summed, checked, and errors put down to the function that made
 * them.
 */
import {
  boundary,
  RewardError,
  taskPrompt,
  taskTruth,
  type ChatResponse,
  type Metrics,
  type RewardFn,
  type RewardInput,
  type Task,
} from '@trinity-rft/core';

export interface Score {
  /** Sum of the parts. */
  readonly reward: number;
  readonly parts: Metrics;
}

/**
 * Scores one response of `task`; `details` are for rewards of length and layout.
 * @throws RewardError when the function throws or returns anything but finite numbers
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
  const result = await boundary(
    (cause) =>
      new RewardError(
        `Reward function "${task.rewardFn ?? 'default'}" threw on task ${task.batchId}/${task.taskId}.`,
        {
          code: 'REWARD_THREW',
          cause,
        },
      ),
    () => rewardFn(input),
  );
  const parts: Metrics = typeof result === 'number' ? { reward: result } : result;
  let reward = 0;
  for (const [name, value] of Object.entries(parts)) {
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      throw new RewardError(
        `Reward function "${task.rewardFn ?? 'default'}" returned ${String(value)} for "${name}" on task ${task.batchId}/${task.taskId}; expected a finite number.`,
        { code: 'REWARD_NOT_FINITE' },
      );
    }
    reward += value;
  }
  return { reward, parts: typeof result === 'number' ? {} : parts };
}

/**
 * As {@link scoreResponse}, of one choice of a chat: with its reasoning and its number of tokens.
 */
export function scoreChoice(rewardFn: RewardFn, task: Task, choice: ChatResponse): Promise<Score> {
  return scoreResponse(rewardFn, task, choice.responseText, {
    responseTokens: choice.tokens.length - choice.promptLength,
    ...(choice.reasoningText !== undefined && { reasoning: choice.reasoningText }),
  });
}
