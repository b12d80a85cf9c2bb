/** The seam between a policy and the world that it acts in. */
import type { ChatMessage, Metrics, RawTask, ToolDefinition } from '@trinity-rft/core';

/** Action of the policy in one step. */
export type Action = TextAction | ToolAction;

export interface TextAction {
  readonly type: 'text';
  /** The action alone, without the reasoning around it: `search[red shoes]`. */
  readonly text: string;
}

/** A call of one of the tools of the episode. */
export interface ToolAction {
  readonly type: 'tool';
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** Answer of the world to an action. */
export interface StepResult {
  /** For the policy. Never shown when `done`: the last one may hold the answer. */
  readonly observation: string;
  /** Reward of this step; a finite number. @default the world gives none here */
  readonly reward?: number;
  /** The episode is over. */
  readonly done: boolean;
  /** It is over because a limit of the world was reached, not by a verdict. @default false */
  readonly truncated?: boolean;
  /**
   * The action was not possible: the observation says why, nothing else changed, and the policy goes
   * on.
   * @default false
   */
  readonly refused?: boolean;
  readonly metrics?: Metrics;
}

/**
 * Where an episode begins. Equal starts give equal episodes, so all runs of a group get the same one.
 */
export interface EpisodeStart {
  /** The row of the task set; for generated tasks one that the definition's `tasks` returned. */
  readonly row: RawTask;
  /** 32-bit, unsigned; the same for all runs of a task. */
  readonly seed: number;
  /** For verdicts that words cannot give. @default the run has none, or the definition asks none */
  readonly judge?: Judge;
}

/** A model that is not trained, and compares answers. */
export interface Judge {
  /**
   * Waits as long as the judge may take, whatever the deadline of a step is.
   * @throws EnvironmentError when it cannot be reached or nothing that it answers can be read
   */
  ask<T>(question: JudgeQuestion<T>): Promise<T>;
}

export interface JudgeQuestion<T> {
  readonly messages: readonly ChatMessage[];
  /** Returns undefined for an answer that it cannot read. */
  readonly parse: (answer: string) => T | undefined;
  /** The form of the answer, for the reminder: `true or false`. */
  readonly expected: string;
}

/** One attempt at a task, from a reset to its end. Steps are taken one after the other. */
export interface Episode {
  /** First text for the policy: the task, and what it sees. */
  readonly observation: string;
  /** How to act here, as a system prompt. @default none */
  readonly instructions?: string;
  /** Tools that the policy may call instead of writing actions. @default none */
  readonly tools?: readonly ToolDefinition[];
  /**
   * Takes an action. What the policy may not do comes back as `refused`; whatever is thrown counts as
   * a broken environment.
   * @throws EnvironmentError, CancelledError
   */
  step(action: Action, signal: AbortSignal): Promise<StepResult>;
  /**
   * The reward for the state reached, asked when the policy stops, or runs out of turns, tokens or
   * its own time before the episode is over. @default 0 on top of the rewards of the steps
   * @throws EnvironmentError
   */
  grade?(signal: AbortSignal): Promise<number>;
  /** Equal in equal states, for algorithms that compare steps taken from one state. @default unknown */
  stateKey?(): string;
  /** Ends the episode and frees what it holds. Safe to call twice. */
  close(): Promise<void>;
}

/** A world that is ready to play; many episodes may be open at once. */
export interface Environment {
  /** Begins an episode. @throws TaskError when the row is wrong; EnvironmentError; CancelledError */
  reset(start: EpisodeStart, signal: AbortSignal): Promise<Episode>;
  /** Stops servers and processes. Safe to call twice. */
  close(): Promise<void>;
}

/** Plays one episode well: the next action after each observation, undefined when it gives up. */
export type Solver = (observation: string) => Action | undefined;
