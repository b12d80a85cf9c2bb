/**
 * The recording endpoint of one rollout as a function from Request to Response, without a socket.
 */
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import { ModelError } from '@trinity-rft/core';
import { withoutCause } from '@trinity-rft/http-server';
import { chatCompletions } from '../protocols/chat/route.js';
import { textCompletions } from '../protocols/completions/route.js';
import { countTokens, messages } from '../protocols/messages/route.js';
import type { ResponsesContext } from '../protocols/responses/response-store.js';
import { errorResponseTo } from '../protocols/error-response-to.js';
import { responseRoutes } from '../protocols/responses/route.js';
import type { AnswerHandler } from '../protocols/shared/answer/answer.js';
import {
  createGenerateAnswer,
  type GenerateAnswerOptions,
} from '../protocols/shared/generate-answer.js';
import { modelList, modelObject } from '../protocols/shared/model-list.js';
import { createRequestDeduplication } from '../protocols/shared/request-deduplication.js';
import {
  lastSegment,
  segmentsOf,
  type Route,
  type RouteContext,
} from '../protocols/shared/route.js';
import { withoutKey } from './keys.js';

export interface EndpointHandlerOptions
  extends GenerateAnswerOptions, Omit<ResponsesContext, 'deduplication' | 'generateAnswer'> {
  /** Signal that aborts every call. */
  readonly signal?: AbortSignal;
}

/**
 * Routes by method and by the last segments of the path. `*` matches any single segment. Segments
 * before them, such as `/r/<rollout>`, are ignored, because they depend on the path at which the
 * handler is mounted.
 */
const routes: readonly {
  readonly method: string;
  readonly path: string;
  readonly segments: readonly string[];
  readonly route: Route<ResponsesContext>;
}[] = (
  [
    ['POST', '/v1/chat/completions', chatCompletions],
    ['POST', '/v1/completions', textCompletions],
    ['POST', '/v1/messages', messages],
    ['POST', '/v1/messages/count_tokens', countTokens],
    ...responseRoutes,
    ['GET', '/v1/models', listModels],
    ['GET', '/v1/models/*', retrieveModel],
  ] as const
).map(([method, path, route]) => ({ method, path, segments: path.split('/').slice(1), route }));

/**
 * Creates the handler of one rollout. The handler never rejects: it converts every error to a
 * response. If the signal of a request aborts, the generation for the request is aborted and not
 * recorded.
 */
export function createEndpointHandler(options: EndpointHandlerOptions): AnswerHandler {
  const { deliveries, counters } = options;
  const deduplication = createRequestDeduplication(options, deliveries, counters);
  const generateAnswer = createGenerateAnswer(options);
  const context: ResponsesContext = { ...options, generateAnswer, deduplication };
  return async (request, body) => {
    try {
      return await findRoute(request)(request, context, body);
    } catch (error) {
      return errorResponseTo(request, withoutCause(error, options.onFault));
    }
  };
}

/**
 * Checks that an endpoint serves the path and the method of a request.
 * @throws ModelError 404 or 405 with the served paths
 */
export function assertServed(request: Request): void {
  findRoute(request);
}

function findRoute(request: Request): Route<ResponsesContext> {
  const pathname = withoutKey(new URL(request.url).pathname);
  const segments = segmentsOf(pathname);
  const atPath = routes.filter((route) => endsWith(segments, route.segments));
  const found = atPath.find(({ method }) => method === request.method);
  if (found) return found.route;
  const available = routes.map(({ method, path }) => `${method} ...${path}`).join(', ');
  const message = `${request.method} ${pathname} is not served. Available: ${available}.`;
  if (atPath.length === 0) throw new ModelError(message, { status: 404, code: 'not_found' });
  const allow = atPath.map(({ method }) => method).join(', ');
  throw new ModelError(message, { status: 405, code: 'method_not_allowed', details: { allow } });
}

/**
 * Returns true if a path ends with the pattern. The empty segment before a path's leading slash
 * cannot be part of the match.
 */
function endsWith(segments: readonly string[], pattern: readonly string[]): boolean {
  const from = segments.length - pattern.length;
  return (
    from >= 1 && pattern.every((segment, i) => segment === '*' || segment === segments[from + i])
  );
}

/** Lists the models that requests may name, with the fields of OpenAI and of Anthropic. */
const modelsOf = ({ modelPath, modelEntry, runtime }: RouteContext) => [
  { ...modelObject(modelPath, runtime.clock.now()), ...modelEntry?.() },
];

async function listModels(_: Request, context: RouteContext): Promise<Response> {
  return Response.json(modelList(modelsOf(context)));
}

async function retrieveModel(request: Request, context: RouteContext): Promise<Response> {
  const asked = lastSegment(request);
  const models = modelsOf(context);
  const found = models.find(({ id }) => id === asked);
  if (found) return Response.json(found);
  const ids = models.map(({ id }) => id).join(', ');
  throw invalidRequest('model', `is ${quote(asked)}, which is not served`, ids, {
    status: 404,
    code: 'model_not_found',
  });
}
