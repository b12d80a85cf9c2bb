/** The model of one run, as LangChain knows models. */
import { ChatOpenAI, ChatOpenAICompletions, type ChatOpenAIFields } from '@langchain/openai';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { refuseUnstableTools } from './unstable-tools.js';

/** Fields of `ChatOpenAI` that the endpoint gives. */
type GivenFields =
  | 'model'
  | 'modelName'
  | 'apiKey'
  | 'openAIApiKey'
  | 'maxRetries'
  | 'configuration'
  | 'completions';

/**
 * Everything `ChatOpenAI` takes but where it finds the model: `streaming`, `useResponsesApi` ...
 */
export interface LangchainModelOptions extends Omit<ChatOpenAIFields, GivenFields> {
  /**
   * Whether calls with tools that are named anew for every call (`extract-1`, `extract-2` ...) are
   * refused: their prompts differ between the turns of a run and between the runs of a group.
   * @default "refuse"
   */
  readonly unstableTools?: 'refuse' | 'allow';
}

/**
 * A `ChatOpenAI` whose calls belong to the run of `endpoint`. Make one for every run: LangChain
 * makes queued calls of a shared model with `maxConcurrency` in the name of whoever is served
 * before.
 */
export function langchainModel(
  endpoint: AgentEndpoint,
  options: LangchainModelOptions = {},
): ChatOpenAI {
  const { unstableTools = 'refuse', ...own } = options;
  const { configuration, ...given } = endpoint.langchain();
  const fetch =
    unstableTools === 'refuse' ? refuseUnstableTools(configuration.fetch) : configuration.fetch;
  const fields = { ...own, ...given, configuration: { ...configuration, fetch } };
  return new ChatOpenAI({ ...fields, completions: new Completions(fields) });
}

/**
 * After a streamed call LangChain counts its tokens with a vocabulary that it downloads, and waits
 * for that where there is no network.
 */
class Completions extends ChatOpenAICompletions {
  /**
   * A guess at once, as LangChain makes it without the vocabulary; the endpoint sends the right
   * count.
   */
  override getNumTokens(
    ...[content]: Parameters<ChatOpenAICompletions['getNumTokens']>
  ): Promise<number> {
    return Promise.resolve(Math.ceil(JSON.stringify(content).length / 4));
  }
}
