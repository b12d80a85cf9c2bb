/** Makes the model of a rollout available as a model configuration of Mastra. */
import type { AgentEndpoint } from '@trinity-rft/workflow';

export interface MastraModelOptions {
  /**
   * API that Mastra calls. With `chat`, Mastra sends text only once if two turns have identical
   * text. The prompt then differs from the recorded conversation and is tokenized again
   * (`model/fork/text_edited`).
   * @default "responses"
   */
  readonly api?: 'chat' | 'responses';
}

/** Model configuration, as Mastra accepts it. */
export interface MastraModel {
  readonly id: `${string}/${string}`;
  readonly url: string;
  readonly apiKey: string;
  readonly api: 'chat' | 'responses';
}

/**
 * Creates a model configuration for `new Agent({ model })`, `agent.generate(messages, { model })`
 * or a `model` function. Mastra calls the model over HTTP with the global `fetch`. To avoid HTTP,
 * use a model of an AI SDK provider that is created with `endpoint.aiSdk()` instead.
 */
export function mastraModel(
  endpoint: AgentEndpoint,
  { api = 'responses' }: MastraModelOptions = {},
): MastraModel {
  return { ...endpoint.mastra(), api };
}
