/** Errors in the format that the clients of a path expect, wherever they occurred. */
import { errorResponse as messagesErrorResponse } from './messages/error-body.js';
import { errorResponse } from './shared/answer/error-response.js';

export const errorResponseTo = ({ url }: Request, error: unknown): Response =>
  /\/v1\/messages(?:\/|$)/.test(new URL(url).pathname)
    ? messagesErrorResponse(error)
    : errorResponse(error);
