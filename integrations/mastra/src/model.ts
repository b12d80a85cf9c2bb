/** The model of a rollout as a model configuration of Mastra. */
import type { AgentEndpoint } from '@trinity-rft/workflow';

export interface MastraModelOptions {
  /**
   * API that Mastra calls. With `chat`, Mastra sends identical text of two turns only once, so the
   * prompt differs from the recorded conversation and is tokenized again
   * (`model/fork/text_edited`).
   * @default "responses"
   */
  readonly api?: 'chat' | 'responses';
}

/** A model configuration of Mastra. */
export interface MastraModel {
  readonly id: `${string}/${string}`;
  readonly url: string;
  readonly apiKey: string;
  readonly api: 'chat' | 'responses';
}

/**
 * Creates a model configuration for `new Agent({ model })`, `agent.generate(messages, { model })`
 * or a `model` function. Mastra calls the model over HTTP with the global `fetch`. To call the
 * model without HTTP, pass a model of an AI SDK provider created with `endpoint.aiSdk()`.
 */
export function mastraModel(
  endpoint: AgentEndpoint,
  { api = 'responses' }: MastraModelOptions = {},
): MastraModel {
  return { ...endpoint.mastra(), api };
}
