/** What came of one debugged attempt. */
import type { Tokenizer } from '@trinity-rft/chat';
import type { Experience, Metrics, Task } from '@trinity-rft/core';
import type { RecordedFork } from '@trinity-rft/model';
import type { Turn } from './turns.js';

/** Something that took time in the attempt. Milliseconds since the attempt began. */
export interface Span {
  readonly kind: 'attempt' | 'model' | 'tools' | 'reward';
  readonly name: string;
  readonly begin: number;
  readonly end: number;
  /** Numbers and names that belong to it. */
  readonly details: Readonly<Record<string, string | number>>;
}

export interface WorkflowDebugReport {
  readonly task: Task;
  readonly seconds: number;
  /** Without rewards when the attempt failed: what its calls recorded until then. */
  readonly experiences: readonly Experience[];
  readonly reward?: number;
  readonly metrics: Metrics;
  /** What the attempt died of, cause first found. */
  readonly error?: Error;
  /** Warnings of the configuration, and what model and workflow have logged. */
  readonly notices: readonly string[];
  /** Errors that nobody awaited or caught while it ran. A run reports them and goes on. */
  readonly strays: readonly string[];
  readonly turns: readonly Turn[];
  /** Of the model, to read tokens with. */
  readonly tokenizer: Tokenizer;
  /** Conversations that left their recorded tokens. */
  readonly forks: readonly RecordedFork[];
  readonly spans: readonly Span[];
  /**
   * Address of the served model that answered; absent when the model was loaded for this attempt.
   */
  readonly servedAt?: string;
  readonly outputDirectory: string;
  /** Names of the files that were written into it. */
  readonly files: readonly string[];
}
