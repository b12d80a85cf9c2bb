/** Makes the model of a rollout available as a `ChatOpenAI` of LangChain. */
import { ChatOpenAI, ChatOpenAICompletions, type ChatOpenAIFields } from '@langchain/openai';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { rejectUnstableTools } from './unstable-tools.js';

/** Names of the fields of `ChatOpenAI` that the endpoint determines. */
type EndpointFields =
  | 'model'
  | 'modelName'
  | 'apiKey'
  | 'openAIApiKey'
  | 'maxRetries'
  | 'configuration'
  | 'completions';

/**
 * Options of the rollout's model: fields of `ChatOpenAI` that the endpoint does not determine, such
 * as `streaming` and `useResponsesApi`.
 */
export interface LangchainModelOptions extends Omit<ChatOpenAIFields, EndpointFields> {
  /**
   * Reaction to tools whose name changes with every call (`extract-1`, `extract-2` ...). `reject`
   * makes such calls fail, because the changing names would make every prompt different.
   * @default "reject"
   */
  readonly unstableTools?: 'reject' | 'allow';
}

/**
 * Creates a `ChatOpenAI` whose calls belong to the rollout of `endpoint`. Create one per rollout.
 * If rollouts shared a model with `maxConcurrency`, LangChain would make queued calls in the async
 * context of another call.
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
 * Chat Completions model that does not count the tokens of streamed calls like LangChain, which
 * would download a vocabulary for this.
 */
class Completions extends ChatOpenAICompletions {
  /** Returns an estimate, because the endpoint reports the exact number of tokens. */
  override getNumTokens(
    ...[content]: Parameters<ChatOpenAICompletions['getNumTokens']>
  ): Promise<number> {
    return Promise.resolve(Math.ceil(JSON.stringify(content).length / 4));
  }
}
