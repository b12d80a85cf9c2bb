/** The routes of the Responses API. */
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import type { ModelError } from '@trinity-rft/core';
import { lastSegment, type Route } from '../shared/route.js';
import { createResponse, sseAfter } from './create-response.js';
import type { ResponsesContext } from './response-store.js';

/** The routes: HTTP method, pattern for the end of the path, and handler. */
export const responseRoutes: readonly (readonly [
  method: string,
  path: string,
  route: Route<ResponsesContext>,
])[] = [
  ['POST', '/v1/responses', createResponse],
  ['GET', '/v1/responses/*', retrieve],
  ['DELETE', '/v1/responses/*', remove],
];

/**
 * Returns a stored response, as a whole or as a stream of its events. The stream can start after
 * any event.
 */
function retrieve(
  request: Request,
  { responses, deliveries }: ResponsesContext,
): Promise<Response> {
  const id = lastSegment(request);
  const found = responses.get(id);
  if (!found) throw unknownResponse(id);
  deliveries.markDelivered(found.callIndex);
  const query = new URL(request.url).searchParams;
  if (query.get('stream') !== 'true') return Promise.resolve(Response.json(found.body));
  const { contentType, pieces } = sseAfter(sequenceNumber(query.get('starting_after')));
  const headers = { 'content-type': contentType };
  return Promise.resolve(new Response(pieces(found).join(''), { headers }));
}

/**
 * Reads the sequence number of the event after which the stream starts. Returns -1 if the field is
 * absent, so that the whole stream is sent.
 * @throws ModelError 400 if it is not an integer of at least 0
 */
function sequenceNumber(text: string | null): number {
  if (text === null) return -1;
  if (/^\d+$/.test(text)) return Number(text);
  throw invalidRequest(
    'starting_after',
    `is ${quote(text)}`,
    'the sequence_number of an event, an integer of at least 0',
  );
}

function remove(request: Request, { responses }: ResponsesContext): Promise<Response> {
  const id = lastSegment(request);
  if (!responses.delete(id)) throw unknownResponse(id);
  return Promise.resolve(Response.json({ id, object: 'response', deleted: true }));
}

const unknownResponse = (id: string): ModelError =>
  invalidRequest(
    'response_id',
    `is ${quote(id)}, which is not stored`,
    'the id of a response of this run',
    { status: 404, code: 'response_not_found' },
  );
