/** The model of one run, as the Agents SDK knows models. */
import { OpenAIChatCompletionsModel, OpenAIResponsesModel, type Model } from '@openai/agents';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { OpenAI } from 'openai';

/**
 * Which route of the endpoint is asked: `/v1/responses`, which is the SDK's own choice, or
 * `/v1/chat/completions`.
 */
export type OpenAIAgentsApi = 'responses' | 'chat';

/**
 * A `Model` whose calls belong to the run of `endpoint`. Environment variables of the `openai`
 * package have no influence.
 */
export function openaiAgentsModel(
  endpoint: AgentEndpoint,
  { api = 'responses' }: { readonly api?: OpenAIAgentsApi } = {},
): Model {
  const client = new OpenAI({
    ...endpoint.openai(),
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
  });
  return api === 'chat'
    ? new OpenAIChatCompletionsModel(client, endpoint.model)
    : new OpenAIResponsesModel(client, endpoint.model);
}
