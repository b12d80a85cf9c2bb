/** What a rollout model is made of. */
import type { ChatFormat } from '@trinity-rft/chat';
import type { Experience, Metrics, RolloutModel, Runtime, Sampler } from '@trinity-rft/core';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import type { RolloutClient } from './client.js';
import type { RecordedFork } from './rollout/history.js';
import type { AnswerHandler } from './protocols/shared/answer/answer.js';
import type { EndpointPolicy } from './protocols/shared/endpoint-policy.js';
import type { EndpointMount } from './http/server.js';

/** How to sample where a call does not say; the run's own settings. */
export interface SamplingDefaults {
  /** 0 = greedy. @default 1 */
  readonly temperature?: number;
  /** @default 1 */
  readonly topP?: number;
  /** -1 = all. @default -1 */
  readonly topK?: number;
  /** @default as many as the limits allow */
  readonly maxTokens?: number;
  /** @default 0 */
  readonly minTokens?: number;
}

/** A finished call of the endpoint. */
export interface RecordedAnswer {
  /** That the client gets: of the completion or the response. */
  readonly id: string;
  /** One per choice; `eid.step` is the number of the call. */
  readonly experiences: readonly Experience[];
}

/** Upper bounds in tokens; absent means none but the sampler's. */
export interface RolloutLimits {
  readonly maxPromptTokens?: number;
  readonly maxResponseTokens?: number;
  /** Prompt + response. */
  readonly maxModelLen?: number;
}

export interface RolloutModelOptions extends EndpointPolicy {
  readonly sampler: Sampler;
  /** Share one between all rollouts of a model: it holds the caches. */
  readonly format: ChatFormat;
  /** The served name; the value for `model=` in requests. */
  readonly modelPath: string;
  readonly defaults?: SamplingDefaults;
  readonly limits?: RolloutLimits;
  /** Seed of the n-th call of this rollout, from 0. Equal seeds and prompts give equal answers. */
  readonly seedFor: (callIndex: number) => number;
  /**
   * Who decides about temperature, top-p and top-k of calls through the OpenAI client: `override`
   * the run (what is trained and evaluated), `respect` the client (judges and other helpers). Seeds
   * and penalties of clients are never used. @default "override"
   */
  readonly clientSampling?: 'override' | 'respect';
  /**
   * Whether reasoning that an agent leaves out of its history is put back, see `LedgerOptions`.
   * @default "as-sent"
   */
  readonly reasoning?: 'as-sent' | 'restore';
  /** Left to the chat template when absent. */
  readonly enableThinking?: boolean;
  /**
   * Draws only tokens that keep to the answer format and the forced calls that a request asks for,
   * where the sampler can. What is recorded are log-probabilities of the distribution that was
   * drawn from. @default false: the model is told, and samples freely
   */
  readonly constrainedDecoding?: boolean;
  /** Off for models that are not trained. @default true */
  readonly recordHistory?: boolean;
  /** Puts the prompt as text into experiences. @default false */
  readonly includePromptText?: boolean;
  /**
   * Where the handler is mounted on HTTP, when it is, as `EndpointServer.mount` returns it: then
   * `endpoint().fetch` is the server's, which checks keys. @default an address that only
   * `endpoint().fetch` can reach
   */
  readonly mounted?: Pick<EndpointMount, 'baseURL' | 'apiKey'> &
    Partial<Pick<EndpointMount, 'fetch'>>;
  /**
   * Told of every call through the endpoint. Its client sees nothing of the answer before this has
   * resolved; what it throws fails the call.
   */
  readonly onAnswer?: (answer: RecordedAnswer) => void | Promise<void>;
  /** Ends every call of this rollout. */
  readonly signal?: AbortSignal;
  readonly runtime: Pick<Runtime, 'clock' | 'logger' | 'newId'>;
  /**
   * Notices that were logged already; share one set to see each of them once.
   * @default a new set
   */
  readonly notices?: Set<string>;
}

/** The rollout model with what its owner needs besides the workflow's view. */
export interface RecordingModel extends RolloutModel<RolloutClient> {
  /**
   * The recording endpoint: `.../v1/chat/completions`, `.../v1/completions`, `.../v1/responses` and
   * `.../v1/models` under any prefix. Mount it on HTTP or use it in place of `fetch`. Errors become
   * responses with OpenAI's error body.
   */
  readonly handler: (request: Request) => Promise<Response>;
  /** The same for `EndpointServer.mount`, which writes a complete answer without a Response. */
  readonly answer: AnswerHandler;
  /** The handler's address and settings, for agents of any framework. */
  endpoint(): AgentEndpoint;
  /**
   * The first few conversations that left their recorded tokens, with what differed: for debugging
   * an agent that splits its records.
   */
  forks(): readonly RecordedFork[];
  /** Counts since the model was made: `model/calls`, `model/fork/<reason>` ... */
  metrics(): Metrics;
}
