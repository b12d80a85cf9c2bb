/** Makes a loaded model available to the AI SDK: `generateText`, `streamText`, tools, agents. */
import type { LocalModel } from './load-model.js';

/** Settings for `createOpenAICompatible` of `@ai-sdk/openai-compatible`. */
export interface ProviderSettings {
  readonly name: string;
  readonly baseURL: string;
  readonly fetch: typeof globalThis.fetch;
  /** Makes the provider send the complete schema of `Output.object`. */
  readonly supportsStructuredOutputs: boolean;
  /** Makes the provider request token counts for streams as well. */
  readonly includeUsage: boolean;
}

/**
 * Creates a language model whose requests stay in this process.
 * @param createProvider `createOpenAICompatible`, in the version that fits your `ai`
 * @returns a language model of the specification version that the provider implements
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
