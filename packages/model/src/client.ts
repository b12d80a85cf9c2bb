/** A client of the `openai` package that talks to the recording endpoint without a socket. */
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { OpenAI } from 'openai';

/** An `OpenAI` client that also knows the value for `model=`. */
export type RolloutClient = OpenAI & { readonly modelPath: string };

/** Environment variables of the openai package have no influence. */
export function createClient(endpoint: AgentEndpoint): RolloutClient {
  const client = new OpenAI({
    ...endpoint.openai(),
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
  });
  return Object.assign(client, { modelPath: endpoint.model });
}
