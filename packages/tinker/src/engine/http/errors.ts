/**
 * Creates errors for requests that the server rejects or does not answer. The errors never contain
 * the API key.
 */
import { EngineError } from '@trinity-rft/core';
import { serverRestartedKey } from '@trinity-rft/core/engine';
import { isDiskFull, type ErrorAction, type FailedResult } from '../../protocol/index.js';

interface RefusedRequest {
  readonly baseUrl: string;
  readonly what: string;
  readonly status: number;
  readonly action: ErrorAction;
  readonly detail: string;
}

const codes: Readonly<Record<ErrorAction, string>> = {
  'poll-again': 'TINKER_BUSY',
  retry: 'ENGINE_WORKER_DIED',
  lost: 'ENGINE_WORKER_DIED',
  forbidden: 'TINKER_FORBIDDEN',
  full: 'TINKER_STORAGE',
  unsupported: 'TINKER_UNSUPPORTED',
  invalid: 'TINKER_REJECTED',
};

const advice: Readonly<Record<ErrorAction, string>> = {
  'poll-again': 'Try again later',
  retry: 'Look at its log, and start the run again: it continues from its last checkpoint',
  lost: 'It was restarted or has forgotten the run for want of a sign of life. Start the run again: it continues from its last checkpoint',
  full: 'Free space on its disk, and start the run again: it continues from its last checkpoint',
  forbidden: 'Set the environment variable TINKER_API_KEY to a key that is valid there',
  unsupported: 'The server or its backend cannot do this',
  invalid:
    'The request does not suit this server: compare its version with TuFT 0.2, SkyRL 0.4 or SDK 0.38',
};

export function answerError({
  baseUrl,
  what,
  status,
  action,
  detail,
}: RefusedRequest): EngineError {
  const reason = detail === '' ? '' : `: ${detail.replace(/\.$/, '')}`;
  return new EngineError(
    `The Tinker server ${baseUrl} answered ${status} when asked to ${what}${reason}. ${advice[action]}.`,
    {
      code: codes[action],
      details: { status, ...(action === 'lost' && { [serverRestartedKey]: true }) },
    },
  );
}

/** Creates the error for work that failed after the server had accepted it. */
export function failedError(what: string, { error, category }: FailedResult): EngineError {
  const reason = `The Tinker server could not ${what}: ${error.replace(/\.$/, '')}.`;
  if (isDiskFull(error)) return new EngineError(`${reason} ${advice.full}.`, { code: codes.full });
  const code = category === 'user' ? codes.unsupported : codes.lost;
  return new EngineError(reason, { code });
}

/**
 * Creates the error for a request when it is unknown whether the server executed it. The server may
 * have been restarted with older weights, so the training run continues from its last checkpoint.
 */
export const unanswered = (
  { baseUrl }: { readonly baseUrl: string },
  what: string,
  cause: unknown,
): EngineError =>
  new EngineError(
    `The connection to the Tinker server ${baseUrl} broke when it was asked to ${what}, and nothing says whether it did. A new start of the run continues from its last checkpoint.`,
    { code: 'ENGINE_WORKER_DIED', details: { [serverRestartedKey]: true }, cause },
  );

/**
 * Creates the error for a server that stays unreachable. It ends the training run, which can be
 * restarted from its last checkpoint.
 */
export const unreachable = (
  { baseUrl, patienceMs }: { readonly baseUrl: string; readonly patienceMs: number },
  what: string,
  cause: unknown,
): EngineError =>
  new EngineError(
    `The Tinker server ${baseUrl} could not be asked to ${what}, and was tried for up to ${Math.round(patienceMs / 1000)} s. Check that it runs and that model.tinker.base_url is its address; a new start of the run continues from its last checkpoint.`,
    { code: 'ENGINE_WORKER_DIED', cause },
  );
