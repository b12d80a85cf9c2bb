/** The routes of the Responses API. */
import type { ModelError } from '@trinity-rft/core';
import { quote, refusal } from '../shared/request/invalid-request.js';
import type { Route, RouteContext } from '../shared/route.js';
import { createResponse } from './create.js';
import { streamed } from './encodings.js';

/** Method, end of the path, and what answers there. */
export const responseRoutes: readonly [method: string, path: string, route: Route][] = [
  ['POST', '/v1/responses', createResponse],
  ['GET', '/v1/responses/*', retrieve],
  ['DELETE', '/v1/responses/*', remove],
];

/** Streams can be asked for again, from any event on. */
function retrieve(request: Request, { responses, deliveries }: RouteContext): Promise<Response> {
  const id = idOf(request);
  const found = responses.get(id);
  if (!found) throw unknown(id);
  deliveries.refer(found.callIndex);
  const query = new URL(request.url).searchParams;
  if (query.get('stream') !== 'true') return Promise.resolve(Response.json(found.body));
  const form = streamed(Number(query.get('starting_after') ?? -1));
  const headers = { 'content-type': form.contentType };
  return Promise.resolve(new Response(form.pieces(found).join(''), { headers }));
}

function remove(request: Request, { responses }: RouteContext): Promise<Response> {
  const id = idOf(request);
  if (!responses.delete(id)) throw unknown(id);
  return Promise.resolve(Response.json({ id, object: 'response', deleted: true }));
}

const idOf = (request: Request): string =>
  new URL(request.url).pathname.replace(/\/+$/, '').split('/').at(-1)!;

function unknown(id: string): ModelError {
  const expected = 'the id of a response of this run';
  return refusal('response_id', `is ${quote(id)}, which is not stored`, expected, {
    status: 404,
    code: 'response_not_found',
  });
}
