/** Options of the rollout model, and its interface for the code that created it. */
import type { Experience, Metrics, RolloutModel, Runtime } from '@trinity-rft/core';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import type { OpenAI } from 'openai';
import type { EndpointMount } from './http/server.js';
import type { AnswerHandler } from './protocols/shared/answer/answer.js';
import type { RequestBody } from './protocols/shared/request/body.js';
import type { EndpointPolicy } from './protocols/shared/endpoint-policy.js';
import type { GenerateOptions } from './rollout/generate.js';
import type { RecordedFork } from './rollout/history.js';

/**
 * A client of the `openai` package. `modelPath` is the value for the `model` field of its requests.
 */
export type RolloutClient = OpenAI & { readonly modelPath: string };

/**
 * A finished call of the endpoint, as passed to `onAnswer`. It is already recorded, but not yet
 * delivered.
 */
export interface RecordedAnswer {
  /** Id of the completion or response that the client receives. */
  readonly id: string;
  /**
   * One experience per choice. Its `eid.step` is the index of the call, which also counts failed
   * calls. In contrast, experiences that are extracted from the history are numbered without gaps.
   */
  readonly experiences: readonly Experience[];
}

export interface RolloutModelOptions extends GenerateOptions, EndpointPolicy {
  /** Name of the served model: the value of the `model` field in requests. */
  readonly modelPath: string;
  /**
   * Additional fields of the model's entry in the endpoint's list of models. @default no additional
   * fields
   */
  readonly modelEntry?: () => Readonly<Record<string, string | number>>;
  /**
   * Determines whose temperature, top-p, top-k and seed are used for calls through the endpoint.
   * `override` uses the values of the training run, for models that are trained or evaluated.
   * `respect` uses the client's values, for judges and other auxiliary models. Client penalties are
   * always ignored.
   * @default "override"
   */
  readonly clientSampling?: 'override' | 'respect';
  /** True to record calls; false for models that are not trained. @default true */
  readonly recordHistory?: boolean;
  /**
   * URL and key under which the handler is mounted, as `EndpointServer.mount` returns them.
   * `endpoint().fetch` is then the `fetch` of the mount, which checks keys.
   * @default undefined: not mounted, so that only `endpoint().fetch` reaches the handler
   */
  readonly mounted?: Pick<EndpointMount, 'baseURL' | 'apiKey'> &
    Partial<Pick<EndpointMount, 'fetch' | 'keyedBaseURL'>>;
  /**
   * Called for every finished call of the endpoint. It is awaited before the client receives any
   * part of the response. If text is streamed as it is sampled (`streamText`), it is awaited before
   * the client receives the end of the response. If the callback fails, the call fails.
   */
  readonly onAnswer?: (answer: RecordedAnswer) => void | Promise<void>;
  /** Signal that aborts every call of this rollout. */
  readonly signal?: AbortSignal;
  readonly runtime: Pick<Runtime, 'clock' | 'logger' | 'newId'>;
  /**
   * Set of the messages that have already been logged. Rollouts that share a set log each message
   * only once.
   * @default a new set
   */
  readonly notices?: Set<string>;
}

/** The rollout model, including methods that are not available to workflows. */
export interface RecordingModel extends RolloutModel<RolloutClient> {
  /**
   * The recording endpoint: `.../v1/chat/completions`, `.../v1/completions`, `.../v1/responses`,
   * `.../v1/messages` and `.../v1/models` under any prefix. Mount it on an HTTP server, or use it
   * instead of `fetch`. Errors become responses with the error body of the protocol.
   * @param body body of the request, if the caller has already read it
   */
  readonly handler: (request: Request, body?: RequestBody) => Promise<Response>;
  /** The same as {@link handler}, but without a Response object, for `EndpointServer.mount`. */
  readonly answer: AnswerHandler;
  /** Returns the experiences that were extracted from the history and cleared there. */
  extracted(): readonly Experience[];
  /** URL and settings of the handler, for agents of any framework. */
  endpoint(): AgentEndpoint;
  /**
   * Returns the first few conversations that deviated from their recorded tokens, with the position
   * and reason. Use this to debug an agent whose rollouts are split into several experiences.
   */
  forks(): readonly RecordedFork[];
  /**
   * Returns counts since the model was created, such as `model/calls` and `model/fork/<reason>`.
   */
  metrics(): Metrics;
  /**
   * Returns the number of tokens of the calls that the model keeps, as the option `keptTokens`
   * counts them, or 0 if no call was recorded.
   */
  keptTokens(): number;
}
