/** The model of a run as a model configuration of Mastra. */
import type { AgentEndpoint } from '@trinity-rft/workflow';

export interface MastraModelOptions {
  /**
   * The API that Mastra calls. Over `chat`, it sends a text that two turns share only once, so the
   * prompt is not the recorded conversation and is tokenized again (`model/fork/text_edited`).
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
 * For `new Agent({ model })`, `agent.generate(messages, { model })` and `model` functions. Mastra
 * calls it over HTTP with the global `fetch`. To stay in process, pass a model of an AI SDK
 * provider created with `endpoint.aiSdk()`.
 */
export function mastraModel(
  endpoint: AgentEndpoint,
  { api = 'responses' }: MastraModelOptions = {},
): MastraModel {
  return { ...endpoint.mastra(), api };
}
