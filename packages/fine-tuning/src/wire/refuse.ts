/** Errors with the words and codes of OpenAI's API. */
import { ModelError } from '@trinity-rft/core';

/** @param param path of the invalid field: `method.supervised.hyperparameters.n_epochs` */
export const refused = (
  message: string,
  param: string | undefined,
  code = 'invalid_value',
  status = 400,
): ModelError => new ModelError(message, { status, code, details: { param } });

export const unknownParameter = (param: string): ModelError =>
  refused(`Unknown parameter: '${param}'.`, param, 'unknown_parameter');

export const noSuchFile = (id: string, param = 'id'): ModelError =>
  refused(`No such File object: ${id.slice(0, 100)}`, param, 'file_not_found', 404);

export const noSuchJob = (id: string): ModelError =>
  refused(
    `Could not find fine tune: ${id.slice(0, 100)}`,
    'fine_tune_id',
    'fine_tune_not_found',
    404,
  );

export const noSuchUrl = ({ method, url }: Request): ModelError =>
  refused(
    `Invalid URL (${method} ${new URL(url).pathname.slice(0, 200)})`,
    undefined,
    'unknown_url',
    404,
  );
