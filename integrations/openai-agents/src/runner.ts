/**
 * Creates a `Runner` whose agents call the model of a rollout, even if they specify another model
 * by name.
 */
import { Runner, type RunConfig } from '@openai/agents';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { openaiAgentsModel, type OpenAIAgentsApi } from './model.js';

/** Settings of a `Runner`, except its model. */
export interface OpenAIAgentsRunnerOptions extends Partial<
  Omit<RunConfig, 'model' | 'modelProvider'>
> {
  /** API that the SDK calls. @default "responses", as in the SDK */
  readonly api?: OpenAIAgentsApi;
}

/**
 * Creates a runner whose agents, handoffs and tools use the model of the rollout, even if they
 * specify another model by name. If an agent's model is a `Model` instance, the agent keeps it; use
 * {@link withModel} to replace it. Tracing is off by default. Each rollout needs its own runner.
 * The SDK's global setters are no alternative, because they keep the first client that they
 * receive.
 */
export function openaiAgentsRunner(
  endpoint: AgentEndpoint,
  { api, ...config }: OpenAIAgentsRunnerOptions = {},
): Runner {
  const model = openaiAgentsModel(endpoint, { api });
  return new Runner({ tracingDisabled: true, ...config, modelProvider: { getModel: () => model } });
}
