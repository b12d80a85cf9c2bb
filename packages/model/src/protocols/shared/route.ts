/** What the routes of an endpoint work with. */
import type { Tokenizer } from '@trinity-rft/chat';
import type { Runtime } from '@trinity-rft/core';
import type { Counters } from '../../rollout/counters.js';
import type { Generate, Generation } from '../../rollout/generate.js';
import type { ResponseStore } from '../responses/store.js';
import type { Answer } from './answer/answer.js';
import type { CallBook, Deliveries } from './request-deduplication.js';
import type { EndpointPolicy } from './endpoint-policy.js';

export interface HandlerOptions extends EndpointPolicy {
  readonly generate: Generate;
  readonly deliveries: Deliveries;
  readonly counters: Counters;
  readonly modelPath: string;
  readonly tokenizer: Tokenizer;
  readonly clientSampling: 'override' | 'respect';
  readonly constrainedDecoding: boolean;
  readonly runtime: Pick<Runtime, 'clock' | 'logger' | 'newId'>;
  readonly notices: Set<string>;
  /** Ends every call. */
  readonly signal?: AbortSignal;
  /** Told of an answer before its client is. */
  readonly answered: (id: string, generation: Generation) => void | Promise<void>;
  /** What the Responses API of this rollout remembers. */
  readonly responses: ResponseStore;
}

/** One rollout's endpoint. */
export interface RouteContext extends HandlerOptions {
  readonly book: CallBook;
}

/** May reject; the handler makes a response of the error. */
export type Route = (request: Request, context: RouteContext) => Promise<Answer>;
