/**
 * Error messages for callers without access. They differ between servers for training and servers
 * of a product.
 */
import { ModelError } from '@trinity-rft/core';

export interface Refusals {
  readonly keyMissing: string;
  readonly keyUnknown: string;
  /** Error message for `GET /metrics` requests without the admin key. */
  readonly metricsKey: string;
  /** Creates the error for a call to a rollout that has ended. */
  readonly closed: (rollout: string) => ModelError;
}

export const rolloutRefusals: Refusals = {
  keyMissing:
    'The request has no key. Expected the apiKey of model.endpoint() in x-api-key or in Authorization: Bearer. Give the client both baseURL and apiKey of one endpoint().',
  keyUnknown:
    'The key belongs to no open rollout. Expected the apiKey of model.endpoint(). Create the client in the run that uses it.',
  metricsKey:
    'The metrics of the server need its own key. Expected its adminKey in Authorization: Bearer. Ask the owner of the server for it.',
  closed: (rollout) =>
    new ModelError(
      `Rollout ${rollout} has ended, so its model no longer accepts calls. Expected calls before the workflow returns, and before its deadline. Await every call of the agent, and stop on the run's signal.`,
      { status: 409, code: 'rollout_closed' },
    ),
};
