/** The model for the AI SDK: `generateText`, `streamText`, tools, agents. */
import type { LocalModel } from './load-model.js';

/** Settings that `createOpenAICompatible` of `@ai-sdk/openai-compatible` takes. */
export interface ProviderSettings {
  readonly name: string;
  readonly baseURL: string;
  readonly fetch: typeof globalThis.fetch;
  /** Schemas of `Output.object` are sent in full. */
  readonly supportsStructuredOutputs: boolean;
  /** Requests token counts of streams too. */
  readonly includeUsage: boolean;
}

/**
 * Requests stay in this process.
 * @param createProvider `createOpenAICompatible` of the version that fits your `ai`
 * @returns a language model of the specification that this provider follows
 */
export const languageModel = <Model>(
  model: Pick<LocalModel, 'name' | 'fetch'>,
  createProvider: (settings: ProviderSettings) => (modelId: string) => Model,
): Model =>
  createProvider({
    name: 'trinity-rft',
    baseURL: 'http://model.invalid/v1',
    fetch: model.fetch,
    supportsStructuredOutputs: true,
    includeUsage: true,
  })(model.name);
