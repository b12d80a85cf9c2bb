/** The model for the AI SDK: `generateText`, `streamText`, tools, agents. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LocalModel } from './model/load-model.js';

/**
 * Needs the packages `ai` and `@ai-sdk/openai-compatible`. Requests stay in this process.
 * @returns a language model of the specification that the installed provider follows
 */
export const languageModel = (
  model: Pick<LocalModel, 'name' | 'fetch'>,
): ReturnType<ReturnType<typeof createOpenAICompatible>['chatModel']> =>
  createOpenAICompatible({
    name: 'trinity-rft',
    baseURL: 'http://model.invalid/v1',
    fetch: model.fetch,
    supportsStructuredOutputs: true,
    includeUsage: true,
  }).chatModel(model.name);
