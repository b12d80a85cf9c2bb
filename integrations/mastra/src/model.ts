/** The model of a run as Mastra knows models. */
import type { AgentEndpoint } from '@trinity-rft/workflow';

export interface MastraModelOptions {
  /**
   * Which API Mastra calls. Over `chat` it sends the text of a turn only once when two turns say
   * the same, so the second prompt is not what was said, and its tokens are rendered anew
   * (`model/fork/text_edited`). @default "responses"
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
 * For `new Agent({ model })`, for `agent.generate(messages, { model })`, and for what a `model`
 * function returns. Mastra reaches it over HTTP with the global `fetch`; to stay within the
 * process, pass a model of an AI SDK provider made with `endpoint.aiSdk()`.
 */
export function mastraModel(
  endpoint: AgentEndpoint,
  { api = 'responses' }: MastraModelOptions = {},
): MastraModel {
  return { ...endpoint.mastra(), api };
}
