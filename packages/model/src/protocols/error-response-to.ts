/** Writes errors in Anthropic's or in OpenAI's format, depending on the path of the request. */
import { errorResponse } from '@trinity-rft/http-server';
import { errorResponse as messagesErrorResponse } from './messages/error-body.js';

/**
 * Returns the error as a response: in Anthropic's format for paths under `/v1/messages`, otherwise in
 * OpenAI's.
 */
export const errorResponseTo = ({ url }: Request, error: unknown): Response =>
  /\/v1\/messages(?:\/|$)/.test(new URL(url).pathname)
    ? messagesErrorResponse(error)
    : errorResponse(error);
