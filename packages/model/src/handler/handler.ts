/** The recording endpoint as one web-standard function; mounting it on a socket is somebody else's work. */
import type { Tokenizer } from '@trinity-rft/chat';
import { ModelError, type Runtime } from '@trinity-rft/core';
import type { Counters } from '../counters.js';
import type { Generate } from '../generate.js';
import { errorResponse } from './errors.js';
import { readRequest, type ChatCompletionRequest } from './request.js';
import { toChunks, toCompletion } from './response.js';
import { eventStream } from './stream.js';

export interface HandlerOptions {
  readonly generate: Generate;
  readonly counters: Counters;
  readonly modelPath: string;
  readonly tokenizer: Tokenizer;
  readonly clientSampling: 'override' | 'respect';
  readonly runtime: Pick<Runtime, 'clock' | 'logger' | 'newId'>;
  readonly notices: Set<string>;
}

type Route = (request: Request, options: HandlerOptions) => Promise<Response>;

/** By method and end of the path; what comes before it (`/r/<rollout>`) belongs to whoever mounts the handler. */
const routes: readonly [method: string, path: string, route: Route][] = [
  ['POST', '/v1/chat/completions', complete],
  ['GET', '/v1/models', models],
];

/** Never rejects: every error becomes a response. A request whose signal aborts ends its generation and is not recorded. */
export function createHandler(options: HandlerOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      return await find(request)(request, options);
    } catch (error) {
      return errorResponse(error);
    }
  };
}

function find(request: Request): Route {
  const { pathname } = new URL(request.url);
  const path = pathname.replace(/\/+$/, '');
  const atPath = routes.filter(([, end]) => path.endsWith(end));
  const found = atPath.find(([method]) => method === request.method);
  if (found) return found[2];
  const available = routes.map(([method, end]) => `${method} ...${end}`).join(' and ');
  throw new ModelError(`${request.method} ${pathname} is not served. Available: ${available}.`, {
    status: atPath.length > 0 ? 405 : 404,
    code: 'not_found',
  });
}

async function complete(request: Request, options: HandlerOptions): Promise<Response> {
  const { generate, modelPath: model, tokenizer, runtime } = options;
  const wanted = readRequest(await readJson(request));
  report(wanted, options);
  const { messages, tools, parseTools, n, maxTokens, stop, topLogprobs, sampling } = wanted;
  const generation = await generate({
    messages,
    tools,
    parseTools,
    sampling: {
      n,
      stop,
      topLogprobs: wanted.logprobs ? topLogprobs : 0,
      ...(maxTokens !== undefined && { maxTokens }),
      ...(options.clientSampling === 'respect' && sampling),
    },
    signal: request.signal,
  });
  const context = { id: runtime.newId('chatcmpl'), created: Math.floor(runtime.clock.now() / 1000), model, tokenizer, request: wanted };
  return wanted.stream ? eventStream(toChunks(generation, context)) : Response.json(toCompletion(generation, context));
}

function models(_: Request, { modelPath, runtime }: HandlerOptions): Promise<Response> {
  const entry = { id: modelPath, object: 'model', created: Math.floor(runtime.clock.now() / 1000), owned_by: 'trinity-rft' };
  return Promise.resolve(Response.json({ object: 'list', data: [entry] }));
}

async function readJson(request: Request): Promise<unknown> {
  try {
    return await request.json();
  } catch (cause) {
    throw new ModelError('The body is not JSON. Expected a chat completion request.', {
      status: 400,
      code: 'invalid_request',
      cause,
      details: { param: 'body' },
    });
  }
}

/** Says once what of the clients' wishes is not followed. */
function report(
  { samplingFields, unconstrained }: ChatCompletionRequest,
  { clientSampling, counters, notices, runtime }: HandlerOptions,
): void {
  if (clientSampling === 'override' && samplingFields.length > 0) {
    counters.add('sampling_overridden');
    notice(
      `The agent sets ${samplingFields.join(', ')}; the run's own sampling settings are used instead, so that what is trained is what was configured.`,
    );
  }
  if (unconstrained.length > 0) {
    counters.add('unconstrained');
    notice(`The agent asks for a fixed form with ${unconstrained.join(', ')}; the model is not forced into it, the reward has to judge.`);
  }
  function notice(text: string): void {
    if (notices.has(text)) return;
    notices.add(text);
    runtime.logger.info(text);
  }
}
