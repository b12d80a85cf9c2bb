/**
 * The recording endpoint as one web-standard function; mounting it on a socket is somebody else's
 * work.
 */
import { ModelError } from '@trinity-rft/core';
import { textCompletions } from '../protocols/completions/route.js';
import { responseRoutes } from '../protocols/responses/route.js';
import type { AnswerHandler } from '../protocols/shared/answer/answer.js';
import { createCallBook } from '../protocols/shared/request-deduplication.js';
import { chatCompletions } from '../protocols/chat/route.js';
import { errorResponse } from '../protocols/shared/answer/errors.js';
import { checkPause } from '../protocols/shared/endpoint-policy.js';
import type { HandlerOptions, Route, RouteContext } from '../protocols/shared/route.js';

export type { HandlerOptions } from '../protocols/shared/route.js';

/**
 * By method and end of the path, `*` for any one segment; what comes before it (`/r/<rollout>`)
 * belongs to whoever mounts the handler.
 */
const routes: readonly Readonly<{
  method: string;
  path: string;
  segments: readonly string[];
  route: Route;
}>[] = (
  [
    ['POST', '/v1/chat/completions', chatCompletions],
    ['POST', '/v1/completions', textCompletions],
    ...responseRoutes,
    ['GET', '/v1/models', models],
  ] as const
).map(([method, path, route]) => ({ method, path, segments: path.split('/').slice(1), route }));

/**
 * Never rejects: every error becomes a response. A request whose signal aborts ends its generation
 * and is not recorded.
 */
export function createHandler(options: HandlerOptions): AnswerHandler {
  const context: RouteContext = {
    ...options,
    book: createCallBook(options, options.deliveries, options.counters),
  };
  return async (request) => {
    try {
      const route = find(request);
      if (request.method === 'POST') checkPause(context);
      return await route(request, context);
    } catch (error) {
      return errorResponse(error);
    }
  };
}

function find(request: Request): Route {
  const { pathname } = new URL(request.url);
  const segments = pathname.replace(/\/+$/, '').split('/');
  const atPath = routes.filter((route) => endsWith(segments, route.segments));
  const found = atPath.find(({ method }) => method === request.method);
  if (found) return found.route;
  const available = routes.map(({ method, path }) => `${method} ...${path}`).join(', ');
  const message = `${request.method} ${pathname} is not served. Available: ${available}.`;
  if (atPath.length === 0) throw new ModelError(message, { status: 404, code: 'not_found' });
  const allow = atPath.map(({ method }) => method).join(', ');
  throw new ModelError(message, { status: 405, code: 'method_not_allowed', details: { allow } });
}

/** The first segment of a path is empty: it begins with a slash. */
function endsWith(segments: readonly string[], wanted: readonly string[]): boolean {
  const from = segments.length - wanted.length;
  return (
    from >= 1 && wanted.every((segment, i) => segment === '*' || segment === segments[from + i])
  );
}

function models(_: Request, { modelPath, runtime }: HandlerOptions): Promise<Response> {
  const entry = {
    id: modelPath,
    object: 'model',
    created: Math.floor(runtime.clock.now() / 1000),
    owned_by: 'trinity-rft',
  };
  return Promise.resolve(Response.json({ object: 'list', data: [entry] }));
}
