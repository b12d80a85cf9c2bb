/**
 * What the contract of agent frameworks needs from an integration, and what it gives to the agents
 * it tests.
 */
import type { Experience, Metrics, Sampler } from '@trinity-rft/core';
import type { Deviation } from './expected.js';

/**
 * One run of an agent, as a workflow would make it. `Endpoint` is what the framework's settings are
 * made from.
 */
export interface AgentRun<Endpoint> {
  readonly endpoint: Endpoint;
  /** The user's message. */
  readonly question: string;
  /** Use the framework's streaming call. */
  readonly streamed: boolean;
  /** Pass it to the framework. */
  readonly signal: AbortSignal;
  /** Settings to pass to the framework where it has them; empty in most cases. */
  readonly settings: { readonly temperature?: number; readonly seed?: number };
}

/**
 * Runs the agent to its end and gives the text of its last turn; rejects with what the framework
 * throws.
 */
export type AgentUnderTest<Endpoint> = (run: AgentRun<Endpoint>) => Promise<string>;

/** A tool, to be declared in the framework's way with a schema that is validated. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly execute: (input: unknown) => string;
}

/** The recording endpoint of one rollout over the sampler that the contract gave. */
export interface AgentRollout<Endpoint> {
  readonly endpoint: Endpoint;
  /** Every recorded call so far, in the order of the calls. */
  readonly records: () => readonly Experience[];
  /** Of the rollout model: `model/spliced`, `model/fork/<reason>` ... */
  readonly metrics: () => Metrics;
  readonly close: () => Promise<void>;
}

/** How the contract reaches agents of a framework. */
export interface AgentContract<Endpoint> {
  /**
   * Opens the endpoint of one rollout. Its chat format: the template `chatml`, the tool call parser
   * `hermes`, the reasoning parser `qwen3`, and a tokenizer for all of printable ASCII. `signal` is
   * the run's.
   */
  readonly open: (options: {
    readonly sampler: Sampler;
    readonly signal: AbortSignal;
  }) => Promise<AgentRollout<Endpoint>>;
  readonly encode: (text: string) => Int32Array;
  readonly decode: (ids: Int32Array) => string;
  /**
   * Makes one agent with these tools that may take eight turns at least. All its runs use this
   * agent object.
   */
  readonly createAgent: (tools: readonly AgentTool[]) => AgentUnderTest<Endpoint>;
  /** Which ways to call the framework are tested. @default ['whole', 'streamed'] */
  readonly modes?: readonly AgentMode[];
  /** Where the framework behaves differently, and why; asserted as well. */
  readonly deviations?: readonly Deviation[];
}

export type AgentMode = 'whole' | 'streamed';
