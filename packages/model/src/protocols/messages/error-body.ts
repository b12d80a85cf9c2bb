/** Writes errors in Anthropic's format. */
import { errorBody as openAIBody, errorResponse as openAIResponse } from '@trinity-rft/http-server';

export interface ErrorBody {
  readonly type: 'error';
  readonly error: { readonly type: string; readonly message: string };
}

export function errorBody(error: unknown): ErrorBody {
  const { message, type } = openAIBody(error).error;
  return { type: 'error', error: { type: types[type] ?? type, message } };
}

/**
 * Anthropic's error types, keyed by the corresponding OpenAI types. Types with the same name in
 * both APIs are omitted.
 */
const types: Readonly<Record<string, string>> = { server_error: 'api_error' };

/**
 * Creates the response for an error, with the same status and headers as in the other protocols.
 */
export function errorResponse(error: unknown): Response {
  const { status, headers } = openAIResponse(error);
  const body = errorBody(error);
  const type = typeOfStatus[status] ?? body.error.type;
  return Response.json({ ...body, error: { ...body.error, type } }, { status, headers });
}

const typeOfStatus: Readonly<Record<number, string>> = {
  404: 'not_found_error',
  413: 'request_too_large',
  503: 'overloaded_error',
  529: 'overloaded_error',
};
