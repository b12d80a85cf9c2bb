/** Types of the rollout model: its options, and the interface for the code that created it. */
import type { Experience, Metrics, RolloutModel, Runtime } from '@trinity-rft/core';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import type { OpenAI } from 'openai';
import type { EndpointMount } from './http/server.js';
import type { AnswerHandler } from './protocols/shared/answer/answer.js';
import type { RequestBody } from './protocols/shared/request/body.js';
import type { EndpointPolicy } from './protocols/shared/endpoint-policy.js';
import type { GenerateOptions } from './rollout/generate.js';
import type { RecordedFork } from './rollout/history.js';

/** An `OpenAI` client that also knows the value for `model=`. */
export type RolloutClient = OpenAI & { readonly modelPath: string };

/** A finished call of the endpoint, as `onAnswer` gets it: after recording, before delivery. */
export interface RecordedAnswer {
  /** Id of the completion or response that the client gets. */
  readonly id: string;
  /**
   * One per choice. Here `eid.step` is the index of the call, which counts failed calls too; in
   * experiences that are extracted from the history it counts without gaps.
   */
  readonly experiences: readonly Experience[];
}

export interface RolloutModelOptions extends GenerateOptions, EndpointPolicy {
  /** The served name; the value for `model=` in requests. */
  readonly modelPath: string;
  /** Further fields of the model where the endpoint lists it. @default none */
  readonly modelEntry?: () => Readonly<Record<string, string | number>>;
  /**
   * Whose temperature, top-p, top-k and seed apply to calls through the endpoint. `override`: those of
   * the run, for models that are trained or evaluated. `respect`: those of the client, for judges
   * and other auxiliary models. Penalties of clients are never used.
   * @default "override"
   */
  readonly clientSampling?: 'override' | 'respect';
  /** Off for models that are not trained. @default true */
  readonly recordHistory?: boolean;
  /**
   * Where the handler is mounted on HTTP, as `EndpointServer.mount` returns it; then
   * `endpoint().fetch` is the server's, which checks keys.
   * @default an address that only `endpoint().fetch` can reach
   */
  readonly mounted?: Pick<EndpointMount, 'baseURL' | 'apiKey'> &
    Partial<Pick<EndpointMount, 'fetch' | 'keyedBaseURL'>>;
  /**
   * Called with every call of the endpoint, and awaited before its client gets anything of the
   * answer. An error fails the call.
   */
  readonly onAnswer?: (answer: RecordedAnswer) => void | Promise<void>;
  /** Ends every call of this rollout. */
  readonly signal?: AbortSignal;
  readonly runtime: Pick<Runtime, 'clock' | 'logger' | 'newId'>;
  /**
   * Messages that were logged already; share one set to log each message once.
   * @default a new set
   */
  readonly notices?: Set<string>;
}

/** The rollout model with the parts that workflows do not see. */
export interface RecordingModel extends RolloutModel<RolloutClient> {
  /**
   * The recording endpoint: `.../v1/chat/completions`, `.../v1/completions`, `.../v1/responses` and
   * `.../v1/models` under any prefix. Mount it on HTTP or use it in place of `fetch`. Errors become
   * responses with OpenAI's error body. A caller who has read the body passes it on.
   */
  readonly handler: (request: Request, body?: RequestBody) => Promise<Response>;
  /** The same as {@link handler} for `EndpointServer.mount`, which needs no Response object. */
  readonly answer: AnswerHandler;
  /** The handler's address and settings, for agents of any framework. */
  endpoint(): AgentEndpoint;
  /**
   * The first few conversations that departed from their recorded tokens, with the difference: for
   * debugging an agent whose runs are split into several experiences.
   */
  forks(): readonly RecordedFork[];
  /** Counts since the model was created: `model/calls`, `model/fork/<reason>` ... */
  metrics(): Metrics;
}
