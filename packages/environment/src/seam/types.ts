/** Interface between a policy and an environment. */
import type { ChatMessage, Metrics, RawTask, ToolDefinition } from '@trinity-rft/core';

/** An action that the policy takes in one step. */
export type Action = TextAction | ToolAction;

export interface TextAction {
  readonly type: 'text';
  /** Text of the action, without reasoning, such as `search[red shoes]`. */
  readonly text: string;
}

/** A call of one of the episode's tools. */
export interface ToolAction {
  readonly type: 'tool';
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Number of tool calls that follow this one in the same message. @default 0 */
  readonly more?: number;
  /**
   * Number of calls in the same message that were refused before they reached the environment,
   * because they name no tool or their arguments are not a JSON object.
   * @default 0
   */
  readonly refused?: number;
}

/** Result of a step. */
export interface StepResult {
  /**
   * Text for the policy. It is not shown if `done` is true, because it may then contain the answer.
   */
  readonly observation: string;
  /** Reward of this step, a finite number. @default no reward at this step */
  readonly reward?: number;
  /** True if the episode is over. */
  readonly done: boolean;
  /**
   * True if the episode is over because the environment reached one of its limits.
   * @default false
   */
  readonly truncated?: boolean;
  /**
   * True if the action was impossible. The observation must then say why, and the state must be
   * unchanged. The episode continues.
   * @default false
   */
  readonly refused?: boolean;
  readonly metrics?: Metrics;
}

/**
 * Data from which an episode starts. Equal starts must give equal episodes, because the rewards of
 * a group's rollouts, which have the same start, are compared.
 */
export interface EpisodeStart {
  /** Task row from the task set or, for generated tasks, from the definition's `tasks`. */
  readonly row: RawTask;
  /** Seed of the episode: a 32-bit unsigned integer, equal for all rollouts of a task. */
  readonly seed: number;
  /**
   * Judge for rewards that cannot be computed by rules.
   * @default undefined if the training run has no judge, or the environment is not `judged`
   */
  readonly judge?: Judge;
  /**
   * Function for waits that must not count towards this episode's time limits, such as a wait for a
   * free process.
   * @default undefined if the caller sets no time limits
   */
  readonly untimed?: Untimed;
}

/**
 * Function that waits without counting the time towards time limits. It calls `wait` and returns
 * its result.
 */
export type Untimed = <T>(wait: () => Promise<T>) => Promise<T>;

/** An auxiliary model that judges answers. */
export interface Judge {
  /**
   * Asks the judge a question and returns its parsed answer. The wait does not count towards the
   * step's timeout.
   * @throws EnvironmentError if the judge cannot be reached, or none of its answers can be parsed
   */
  ask<T>(question: JudgeQuestion<T>): Promise<T>;
}

export interface JudgeQuestion<T> {
  readonly messages: readonly ChatMessage[];
  /** Parses an answer from the judge. Returns undefined if it cannot be parsed. */
  readonly parse: (answer: string) => T | undefined;
  /**
   * Format of the answer, such as `true or false`, shown to the judge after an answer that cannot
   * be parsed.
   */
  readonly expected: string;
}

/** One attempt at a task, which starts with a reset. Callers take one step at a time. */
export interface Episode {
  /** First text for the policy: the task and the initial observation. */
  readonly observation: string;
  /** System prompt that explains how to act. @default no system prompt */
  readonly instructions?: string;
  /** Tools that the policy may call instead of writing actions. @default no tools */
  readonly tools?: readonly ToolDefinition[];
  /**
   * Takes an action. The result of an impossible action must be `refused`, because every thrown
   * error counts as a failure of the environment.
   * @throws EnvironmentError if the environment fails, CancelledError on abort
   */
  step(action: Action, signal: AbortSignal): Promise<StepResult>;
  /**
   * Returns the grade: a reward for the final state, which is combined with the rewards of the
   * steps. Called at the end if the episode is not `done`, was truncated, or had no reward in any
   * step. Returns undefined if the state has no grade; then only the rewards of the steps count.
   * @default no grade
   * @throws EnvironmentError if the state cannot be graded
   */
  grade?(signal: AbortSignal): Promise<number | undefined>;
  /**
   * Returns a key of the current state, which must be the same for equal states. Algorithms that
   * compare steps from the same state use it.
   * @default no state keys
   */
  stateKey?(): string;
  /** Ends the episode and frees its resources. May be called twice. */
  close(): Promise<void>;
}

/** An open environment. Many of its episodes can be in progress at the same time. */
export interface Environment {
  /**
   * Starts an episode.
   * @throws TaskError if the row is invalid; EnvironmentError if the environment fails;
   * CancelledError on abort
   */
  reset(start: EpisodeStart, signal: AbortSignal): Promise<Episode>;
  /** Stops the environment's servers and processes. May be called twice. */
  close(): Promise<void>;
}

/**
 * Policy for one episode. It returns the next action for each observation, or undefined to stop.
 */
export type Solver = (observation: string) => Action | undefined;
