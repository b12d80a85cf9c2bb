/** A `Runner` whose agents call the model of a rollout, even if they name another model. */
import { Runner, type RunConfig } from '@openai/agents';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { openaiAgentsModel, type OpenAIAgentsApi } from './model.js';

/** The settings of a `Runner`, except its model. */
export interface OpenAIAgentsRunnerOptions extends Partial<
  Omit<RunConfig, 'model' | 'modelProvider'>
> {
  /** API to call. @default "responses", as in the SDK */
  readonly api?: OpenAIAgentsApi;
}

/**
 * Creates a runner whose agents, handoffs and tools use the model of the rollout, even if they name
 * another model. An agent with a `Model` instance keeps that instance: see {@link withModel}.
 * Tracing is off by default. Each rollout needs its own runner, because the SDK's global setters
 * keep the first client that they receive.
 */
export function openaiAgentsRunner(
  endpoint: AgentEndpoint,
  { api, ...config }: OpenAIAgentsRunnerOptions = {},
): Runner {
  const model = openaiAgentsModel(endpoint, { api });
  return new Runner({ tracingDisabled: true, ...config, modelProvider: { getModel: () => model } });
}
