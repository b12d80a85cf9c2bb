/** The model of a rollout as a `ChatOpenAI` of LangChain. */
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

/**
 * Options of a rollout's model: the fields of `ChatOpenAI` that the endpoint does not determine,
 * such as `streaming` and `useResponsesApi`.
 */
export interface LangchainModelOptions extends Omit<ChatOpenAIFields, EndpointFields> {
  /**
   * `reject` makes calls fail if their tools have a new name each time (`extract-1`, `extract-2`
   * ...), because such names make every prompt different.
   * @default "reject"
   */
  readonly unstableTools?: 'reject' | 'allow';
}

/**
 * Creates a `ChatOpenAI` whose calls belong to the rollout of `endpoint`. Create one per rollout:
 * with a shared model and `maxConcurrency`, LangChain makes queued calls in the async context of
 * the previous call.
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

/**
 * Chat Completions without LangChain's token counting of streamed calls, for which LangChain would
 * download a vocabulary.
 */
class Completions extends ChatOpenAICompletions {
  /** Returns an estimate. The endpoint reports the exact number of tokens. */
  override getNumTokens(
    ...[content]: Parameters<ChatOpenAICompletions['getNumTokens']>
  ): Promise<number> {
    return Promise.resolve(Math.ceil(JSON.stringify(content).length / 4));
  }
}
