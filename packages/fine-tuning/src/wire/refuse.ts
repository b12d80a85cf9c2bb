/** Errors with the wording and codes of OpenAI's API. */
import { ModelError } from '@trinity-rft/core';

interface Refusal {
  /** Path of the invalid field, such as `method.supervised.hyperparameters.n_epochs`. */
  readonly param?: string;
  /** Error code. @default "invalid_value" */
  readonly code?: string;
  /** HTTP status. @default 400 */
  readonly status?: number;
}

export const refused = (
  message: string,
  { param, code = 'invalid_value', status = 400 }: Refusal,
): ModelError => new ModelError(message, { status, code, details: { param } });

export const unknownParameter = (param: string): ModelError =>
  refused(`Unknown parameter: '${param}'.`, { param, code: 'unknown_parameter' });

export const noSuchFile = (id: string, param = 'id'): ModelError =>
  refused(`No such File object: ${id.slice(0, 100)}`, {
    param,
    code: 'file_not_found',
    status: 404,
  });

export const noSuchJob = (id: string): ModelError =>
  refused(`Could not find fine tune: ${id.slice(0, 100)}`, {
    param: 'fine_tune_id',
    code: 'fine_tune_not_found',
    status: 404,
  });

export const noSuchUrl = ({ method, url }: Request): ModelError =>
  refused(`Invalid URL (${method} ${new URL(url).pathname.slice(0, 200)})`, {
    code: 'unknown_url',
    status: 404,
  });
