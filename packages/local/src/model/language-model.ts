/** Wraps a loaded model for the AI SDK: `generateText`, `streamText`, tools, agents. */
import type { LocalModel } from './load-model.js';

/**
 * Settings for `createOpenAICompatible` of `@ai-sdk/openai-compatible`, or for `createOpenAI` of
 * `@ai-sdk/openai`.
 */
export interface ProviderSettings {
  readonly name: string;
  readonly baseURL: string;
  /** A placeholder, because `createOpenAI` requires a key. */
  readonly apiKey: string;
  readonly fetch: typeof globalThis.fetch;
  /** True, so that the provider sends the whole schema of `Output.object`. */
  readonly supportsStructuredOutputs: boolean;
  /** True, so that the provider requests token counts for streamed responses too. */
  readonly includeUsage: boolean;
}

/**
 * Creates a language model whose requests are handled in this process.
 * @param createProvider `createOpenAICompatible` or `createOpenAI`, in the version that fits your
 * version of `ai`
 * @returns the language model, in the specification version that the provider implements
 */
export const languageModel = <Model>(
  model: Pick<LocalModel, 'name' | 'fetch'>,
  createProvider: (settings: ProviderSettings) => (modelId: string) => Model,
): Model =>
  createProvider({
    name: 'trinity-rft',
    baseURL: 'http://model.invalid/v1',
    apiKey: 'none',
    fetch: model.fetch,
    supportsStructuredOutputs: true,
    includeUsage: true,
  })(model.name);
