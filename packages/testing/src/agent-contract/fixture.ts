/** Interfaces between the agent contract and an integration that is tested. */
import type { Experience, Metrics } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import type { Deviation } from './expected.js';
import type { AgentMode } from './expected.js';

/**
 * Input for one rollout of an agent. The integration derives the framework's settings from
 * `endpoint`.
 */
export interface AgentRun<Endpoint> {
  readonly endpoint: Endpoint;
  /** Message of the user. */
  readonly question: string;
  /** True if the agent must use the framework's streaming call. */
  readonly streamed: boolean;
  /** Signal that the integration must pass to the framework. */
  readonly signal: AbortSignal;
  /** Sampling settings to pass to the framework, if it supports them. Usually empty. */
  readonly settings: { readonly temperature?: number; readonly seed?: number };
}

/**
 * Function that runs the agent. It resolves with the text of the agent's last turn, or rejects with
 * the agent's error.
 */
export type AgentUnderTest<Endpoint> = (run: AgentRun<Endpoint>) => Promise<string>;

/**
 * A tool that the integration declares in the framework, with its schema, so that arguments are
 * validated.
 */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, which are an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly execute: (input: unknown) => string;
}

/** Recording endpoint of one rollout, which uses the sampler of the contract. */
export interface AgentRollout<Endpoint> {
  readonly endpoint: Endpoint;
  /** Returns the model calls recorded so far, in order. */
  readonly records: () => readonly Experience[];
  /**
   * Returns the metrics of the rollout model, such as `model/spliced` and `model/fork/<reason>`.
   */
  readonly metrics: () => Metrics;
  readonly close: () => Promise<void>;
}

/** Functions and settings with which an integration takes part in the agent contract. */
export interface AgentContract<Endpoint> {
  /**
   * Opens the endpoint of one rollout. It must use the chat template `chatml`, the tool call parser
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
   * Creates an agent object that many rollouts share. The agent must have these tools, and must be
   * allowed at least eight turns.
   */
  readonly createAgent: (tools: readonly AgentTool[]) => AgentUnderTest<Endpoint>;
  /** Modes in which the agent is tested. @default ['whole', 'streamed'] */
  readonly modes?: readonly AgentMode[];
  /** Number of rollouts that use one agent object at the same time. @default 64 */
  readonly concurrentRollouts?: number;
  /** Known deviations of the framework from expected results. @default [] */
  readonly deviations?: readonly Deviation[];
}
