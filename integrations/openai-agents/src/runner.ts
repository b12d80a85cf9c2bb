/** A runner of one run's own: its agents talk to the run's model, whatever model they name. */
import { Runner, type RunConfig } from '@openai/agents';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { openaiAgentsModel, type OpenAIAgentsApi } from './model.js';

/** Everything a `Runner` takes but the model. */
export interface OpenAIAgentsRunnerOptions extends Partial<
  Omit<RunConfig, 'model' | 'modelProvider'>
> {
  /** @default "responses", as the SDK does by itself */
  readonly api?: OpenAIAgentsApi;
}

/**
 * Agents that name a model, or none, are asked unchanged, and so are those that they hand over to
 * or use as tools. An agent with a `Model` instance keeps that: see {@link withModel}. Traces are
 * not sent anywhere, unless the options say so.
 *
 * The SDK's global setters keep the first client they see, so there is no other way to keep
 * concurrent runs apart.
 */
export function openaiAgentsRunner(
  endpoint: AgentEndpoint,
  { api, ...config }: OpenAIAgentsRunnerOptions = {},
): Runner {
  const model = openaiAgentsModel(endpoint, api ? { api } : {});
  return new Runner({ tracingDisabled: true, ...config, modelProvider: { getModel: () => model } });
}
