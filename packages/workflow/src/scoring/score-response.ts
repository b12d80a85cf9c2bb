/**
 * Calls reward functions, checks their results, and sums the parts. Errors name the reward
 * function, and not the task, which the report of a failed run names: equal failures have equal
 * texts, by which they are counted.
 */
import {
  taskPrompt,
  taskTruth,
  type ChatResponse,
  type Metrics,
  type RewardFn,
  type RewardInput,
  type Task,
  RewardError,
} from '@trinity-rft/core';
import { boundary, copyOf, returnedBy } from '@trinity-rft/core/support';

export interface Score {
  /** Sum of the parts. */
  readonly reward: number;
  readonly parts: Metrics;
  /**
   * Explanations of the parts, by name of the part, if the reward function returns them. They are
   * stored with the rollout.
   */
  readonly reasons: Readonly<Record<string, string>>;
}

/**
 * Scores one response to `task`. Reward functions that depend on length or layout need `details`.
 * @throws RewardError if the function throws or returns anything but usable numbers
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
    rawTask: copyOf(task.rawTask),
    ...details,
  };
  const name = `Reward function ${rewardFnName(task)}`;
  const result = await boundary(
    (cause) => new RewardError(`${name} threw.`, { code: 'REWARD_THREW', cause }),
    () => rewardFn(input),
  ).catch((error: unknown) => {
    throw error instanceof RewardError ? namedBy(name, error) : error;
  });
  const refuse = (message: string): RewardError =>
    new RewardError(message, { code: 'REWARD_NOT_FINITE' });
  return returnedBy(name, refuse).rewardParts(result);
}

/** Name of the task's reward function in error messages, in quotes. */
export const rewardFnName = ({ rewardFn }: Pick<Task, 'rewardFn'>): string =>
  `"${rewardFn ?? 'default'}"`;

/**
 * Returns the error of a scorer, judge or grader with the name of the reward function, such as
 * `./evals/a.eval.ts#exact`, in its message.
 */
function namedBy(name: string, cause: RewardError): RewardError {
  const { message, code, details } = cause;
  return message.startsWith(name)
    ? cause
    : new RewardError(`${name} failed: ${message}`, { code, details, cause });
}

/**
 * Scores a response of `chat` like {@link scoreResponse}, with its reasoning and its number of
 * tokens as details.
 */
export const scoreChoice = (rewardFn: RewardFn, task: Task, choice: ChatResponse): Promise<Score> =>
  scoreResponse(rewardFn, task, choice.responseText, {
    responseTokens: choice.tokens.length - choice.promptLength,
    reasoning: choice.reasoningText,
  });
