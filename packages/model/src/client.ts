/** A client of the `openai` package that talks to the recording handler without a socket. */
import { OpenAI } from 'openai';

/** An `OpenAI` client that also knows the value for `model=`. */
export type RolloutClient = OpenAI & { readonly modelPath: string };

/** setTimeout's largest delay: how long a call may take is the rollout's decision. */
const noTimeoutMs = 2 ** 31 - 1;

/** Environment variables of the openai package have no influence. Failed calls are not repeated: the scheduler decides about that. */
export function createClient(handler: (request: Request) => Promise<Response>, modelPath: string): RolloutClient {
  const client = new OpenAI({
    // Never resolved: requests go to `fetch` below.
    baseURL: 'http://rollout.invalid/v1',
    apiKey: 'rollout',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: noTimeoutMs,
    fetch: async (url, init) => {
      const response = await handler(new Request(url, init));
      // As fetch does: an aborted request has no response.
      init?.signal?.throwIfAborted();
      return response;
    },
  });
  return Object.assign(client, { modelPath });
}
