/** The result of one debugged attempt. */
import type { Tokenizer } from '@trinity-rft/chat';
import type { Experience, Metrics, Task } from '@trinity-rft/core';
import type { RecordedFork } from '@trinity-rft/model';
import type { Turn } from './turns.js';

/** Time span within an attempt. Times are milliseconds since the start of the attempt. */
export interface Span {
  readonly kind: 'attempt' | 'model' | 'tools' | 'reward';
  readonly name: string;
  readonly begin: number;
  readonly end: number;
  /** Additional attributes: counts and names. */
  readonly details: Readonly<Record<string, string | number>>;
}

export interface WorkflowDebugReport {
  readonly task: Task;
  /** Folder of the weights, or name of the model behind an API. */
  readonly model: string;
  readonly seconds: number;
  /**
   * Experiences of the attempt. If the attempt failed, the experiences before the failure, without
   * rewards.
   */
  readonly experiences: readonly Experience[];
  readonly reward?: number;
  readonly metrics: Metrics;
  /** Error of the attempt, if it failed. */
  readonly error?: Error;
  /** Warnings of the configuration, and log messages of model and workflow. */
  readonly notices: readonly string[];
  /**
   * Errors that no code awaited or caught during the attempt. A training run reports such errors
   * and continues.
   */
  readonly strayErrors: readonly string[];
  readonly turns: readonly Turn[];
  /** Tokenizer of the model, to decode tokens. */
  readonly tokenizer: Tokenizer;
  /** Calls whose prompts deviate from the recorded tokens of earlier calls. */
  readonly forks: readonly RecordedFork[];
  readonly spans: readonly Span[];
  /** URL of the served model that responded; absent if the model was loaded for this attempt. */
  readonly servedAt?: string;
  readonly outputDirectory: string;
  /** Names of the files that were written into `outputDirectory`. */
  readonly files: readonly string[];
}
