/** Makes the model of a rollout available as a `Model` of the Agents SDK. */
import { OpenAIChatCompletionsModel, OpenAIResponsesModel, type Model } from '@openai/agents';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { OpenAI } from 'openai';

/**
 * API that the SDK calls: `responses` for `/v1/responses`, the default of the SDK, or `chat` for
 * `/v1/chat/completions`.
 */
export type OpenAIAgentsApi = 'responses' | 'chat';

/** Creates a `Model` whose calls belong to the rollout of `endpoint`. */
export function openaiAgentsModel(
  endpoint: AgentEndpoint,
  { api = 'responses' }: { readonly api?: OpenAIAgentsApi } = {},
): Model {
  const client = new OpenAI({
    ...endpoint.openai(),
    // Nulls keep the openai package from reading its environment variables.
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
  });
  return api === 'chat'
    ? new OpenAIChatCompletionsModel(client, endpoint.model)
    : new OpenAIResponsesModel(client, endpoint.model);
}
