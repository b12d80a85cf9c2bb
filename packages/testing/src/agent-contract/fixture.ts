/** The interfaces between the agent contract and an integration. */
import type { Experience, Metrics } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import type { Deviation } from './expected.js';
import type { AgentMode } from './expected.js';

/** One rollout of an agent. The integration derives the framework's settings from `endpoint`. */
export interface AgentRun<Endpoint> {
  readonly endpoint: Endpoint;
  /** The user's message. */
  readonly question: string;
  /** True to use the framework's streaming call. */
  readonly streamed: boolean;
  /** Signal to pass to the framework. */
  readonly signal: AbortSignal;
  /** Settings to pass to the framework, if it supports them; usually empty. */
  readonly settings: { readonly temperature?: number; readonly seed?: number };
}

/** Runs the agent and resolves with the text of its last turn, or rejects with its error. */
export type AgentUnderTest<Endpoint> = (run: AgentRun<Endpoint>) => Promise<string>;

/** A tool, to be declared in the framework with a validated schema. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly execute: (input: unknown) => string;
}

/** The recording endpoint of one rollout on the contract's sampler. */
export interface AgentRollout<Endpoint> {
  readonly endpoint: Endpoint;
  /** Returns every recorded call so far, in order. */
  readonly records: () => readonly Experience[];
  /**
   * Returns the metrics of the rollout model, such as `model/spliced` and `model/fork/<reason>`.
   */
  readonly metrics: () => Metrics;
  readonly close: () => Promise<void>;
}

/** Fixture that an integration provides to the contract. */
export interface AgentContract<Endpoint> {
  /**
   * Opens the endpoint of one rollout, with the chat template `chatml`, the tool call parser
   * `hermes`, the reasoning parser `qwen3`, and a tokenizer for printable ASCII. `signal` is the
   * signal of the rollout.
   */
  readonly open: (options: {
    readonly sampler: Sampler;
    readonly signal: AbortSignal;
  }) => Promise<AgentRollout<Endpoint>>;
  readonly encode: (text: string) => Int32Array;
  readonly decode: (ids: Int32Array) => string;
  /**
   * Creates an agent object that many rollouts use. The agent must have these tools, and its turn
   * limit must be at least eight.
   */
  readonly createAgent: (tools: readonly AgentTool[]) => AgentUnderTest<Endpoint>;
  /** Modes in which the agent is tested. @default ['whole', 'streamed'] */
  readonly modes?: readonly AgentMode[];
  /** Number of concurrent rollouts of one agent object. @default 64 */
  readonly concurrentRollouts?: number;
  /** Known deviations of the framework. */
  readonly deviations?: readonly Deviation[];
}
