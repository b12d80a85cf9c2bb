/** Interface between a policy and its environment. */
import type { ChatMessage, Metrics, RawTask, ToolDefinition } from '@trinity-rft/core';

/** The policy's action in one step. */
export type Action = TextAction | ToolAction;

export interface TextAction {
  readonly type: 'text';
  /** Text of the action without the reasoning around it: `search[red shoes]`. */
  readonly text: string;
}

/** A call of one of the tools of the episode. */
export interface ToolAction {
  readonly type: 'tool';
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Number of tool calls that follow in the same message. @default 0 */
  readonly more?: number;
}

/** Result of an action. */
export interface StepResult {
  /** Text for the policy. Not shown if `done`, because it may then contain the answer. */
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
   * True if the action was not possible. The observation must then say why, the state must be
   * unchanged, and the episode continues.
   * @default false
   */
  readonly refused?: boolean;
  readonly metrics?: Metrics;
}

/**
 * Start of an episode. Equal starts must give equal episodes, because the rollouts of a group have
 * the same start.
 */
export interface EpisodeStart {
  /** Row of the task set or, for generated tasks, a row that the definition's `tasks` returned. */
  readonly row: RawTask;
  /** Seed of the episode: a 32-bit unsigned integer, equal for all rollouts of a task. */
  readonly seed: number;
  /**
   * Judge for rewards that rules cannot compute.
   * @default undefined if the training run has no judge, or the environment is not `judged`
   */
  readonly judge?: Judge;
  /**
   * Excludes waits for shared resources, such as a free process, from this episode's time limits.
   * @default undefined if the caller sets no time limits
   */
  readonly untimed?: Untimed;
}

/** Executes `wait` without counting its duration towards time limits, and returns its result. */
export type Untimed = <T>(wait: () => Promise<T>) => Promise<T>;

/** An auxiliary model that judges answers. */
export interface Judge {
  /**
   * Asks the judge. The wait does not count towards the step's timeout.
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

/** One attempt at a task, from a reset to its end. Callers take steps one at a time. */
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
   * Returns the reward for the final state, which is combined with the rewards of the steps. Called
   * at the end if the episode is not `done`, was truncated, or had no reward in any step. Returns
   * undefined if the state has no grade, so that only the rewards of the steps count.
   * @default no grade
   * @throws EnvironmentError
   */
  grade?(signal: AbortSignal): Promise<number | undefined>;
  /**
   * Returns a key of the current state. Equal states must have equal keys. Used by algorithms that
   * compare steps from the same state.
   * @default no state keys
   */
  stateKey?(): string;
  /** Ends the episode and frees its resources. Safe to call twice. */
  close(): Promise<void>;
}

/** An open environment. Many episodes can be open at the same time. */
export interface Environment {
  /**
   * Begins an episode.
   * @throws TaskError if the row is invalid; EnvironmentError if the environment fails;
   * CancelledError on abort
   */
  reset(start: EpisodeStart, signal: AbortSignal): Promise<Episode>;
  /** Stops servers and processes. Safe to call twice. */
  close(): Promise<void>;
}

/** Policy for one episode: returns the next action for each observation, or undefined to stop. */
export type Solver = (observation: string) => Action | undefined;
