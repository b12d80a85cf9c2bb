/** The model of a run as a `ChatOpenAI` of LangChain. */
import { ChatOpenAI, ChatOpenAICompletions, type ChatOpenAIFields } from '@langchain/openai';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { rejectUnstableTools } from './unstable-tools.js';

/** Fields of `ChatOpenAI` that the endpoint determines. */
type EndpointFields =
  | 'model'
  | 'modelName'
  | 'apiKey'
  | 'openAIApiKey'
  | 'maxRetries'
  | 'configuration'
  | 'completions';

/** Other fields of `ChatOpenAI`: `streaming`, `useResponsesApi` ... */
export interface LangchainModelOptions extends Omit<ChatOpenAIFields, EndpointFields> {
  /**
   * True to reject calls with tools whose names change with every call (`extract-1`, `extract-2`
   * ...), so that no two prompts are equal.
   * @default "reject"
   */
  readonly unstableTools?: 'reject' | 'allow';
}

/**
 * A `ChatOpenAI` whose calls belong to the run of `endpoint`. Create one per run: in a shared model
 * with `maxConcurrency`, LangChain makes queued calls in the async context of the previous call.
 */
export function langchainModel(
  endpoint: AgentEndpoint,
  options: LangchainModelOptions = {},
): ChatOpenAI {
  const { unstableTools = 'reject', ...own } = options;
  const { configuration, ...given } = endpoint.langchain();
  const fetch =
    unstableTools === 'reject' ? rejectUnstableTools(configuration.fetch) : configuration.fetch;
  const fields = { ...own, ...given, configuration: { ...configuration, fetch } };
  return new ChatOpenAI({ ...fields, completions: new Completions(fields) });
}

/** LangChain counts the tokens of streamed calls with a vocabulary that it would download. */
class Completions extends ChatOpenAICompletions {
  /** LangChain's estimate without the vocabulary; the endpoint sends the correct count. */
  override getNumTokens(
    ...[content]: Parameters<ChatOpenAICompletions['getNumTokens']>
  ): Promise<number> {
    return Promise.resolve(Math.ceil(JSON.stringify(content).length / 4));
  }
}
