/**
 * Types for the result of a handler: a Response, or a complete response that needs no Response
 * object.
 */
import type { RequestBody } from '../request/body.js';
import { allPieces, bodyStream, type DeliveryListener } from './body-stream.js';

/**
 * A complete response, which the endpoint server writes to the socket in one piece. For other
 * callers, `toResponse` converts it to a Response. The server avoids this conversion, because it
 * takes more time than the rest of a call.
 */
export interface WholeAnswer extends DeliveryListener {
  readonly status: 200;
  /** Headers, including `content-length`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export type Answer = Response | WholeAnswer;

/**
 * Handles a request. Does not reject.
 * @param body body of the request, if it has already been read
 */
export type AnswerHandler = (request: Request, body?: RequestBody) => Promise<Answer>;

export const isWhole = (answer: Answer): answer is WholeAnswer => typeof answer.text === 'string';

export function toResponse(answer: Answer): Response {
  if (!isWhole(answer)) return answer;
  const { status, headers, text } = answer;
  return new Response(bodyStream(allPieces([text]), answer), { status, headers });
}
