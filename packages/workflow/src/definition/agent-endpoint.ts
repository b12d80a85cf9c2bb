/**
 * Provides the URL of a rollout's model as the settings that each agent framework expects. The
 * settings are plain objects, so that no framework becomes a dependency.
 */
import { longestTimer } from '@trinity-rft/core/support';

/** URL and key of one rollout's model. Calls to this URL are recorded for this rollout only. */
export interface EndpointAddress {
  /** Root of the API, which ends in `/v1`. */
  readonly baseURL: string;
  /**
   * Key for this rollout only, which is valid until the rollout ends. For a remote model, the
   * service's key.
   */
  readonly apiKey: string;
  /**
   * URL that contains the key, for clients that send another key. It is as secret as the key.
   * Undefined for models of other services, and if there is no HTTP server.
   */
  readonly keyedBaseURL?: string | undefined;
  /** Value for the `model` field of requests. Any other value is accepted too. */
  readonly model: string;
  /**
   * Function that serves the same endpoint within this process. Use it instead of the global
   * `fetch`.
   */
  readonly fetch: typeof globalThis.fetch;
}

/**
 * URL and key that an agent uses to call the model of its rollout. If a framework has a setting for
 * retries, retries are off, because the explorer retries whole rollouts.
 */
export interface AgentEndpoint extends EndpointAddress {
  /** Settings for OpenAI's client: `new OpenAI(endpoint.openai())`. */
  openai(): {
    readonly baseURL: string;
    readonly apiKey: string;
    readonly fetch: typeof globalThis.fetch;
    readonly maxRetries: 0;
    readonly timeout: number;
  };
  /**
   * Settings for the AI SDK: `createOpenAICompatible(endpoint.aiSdk())(endpoint.model)` or
   * `createOpenAI(endpoint.aiSdk())(endpoint.model)`. The AI SDK sets retries per call:
   * `generateText({ maxRetries: 0, ... })`.
   */
  aiSdk(): {
    readonly name: string;
    readonly baseURL: string;
    readonly apiKey: string;
    readonly fetch: typeof globalThis.fetch;
  };
  /** Settings for LangChain: `new ChatOpenAI(endpoint.langchain())`. */
  langchain(): {
    readonly model: string;
    readonly apiKey: string;
    readonly maxRetries: 0;
    readonly configuration: { readonly baseURL: string; readonly fetch: typeof globalThis.fetch };
  };
  /**
   * Settings for Mastra, whose calls go over HTTP:
   * `agent.generate(prompt, { model: endpoint.mastra() })`.
   */
  mastra(): { readonly id: `${string}/${string}`; readonly url: string; readonly apiKey: string };
  /**
   * Settings for AgentScope, whose calls go over HTTP:
   * `new OpenAIChatModel(endpoint.agentscope())`.
   */
  agentscope(): {
    readonly modelName: string;
    readonly apiKey: string;
    readonly baseURL: string;
    readonly stream: false;
    readonly maxRetries: 0;
  };
  /** Settings for LlamaIndex: `openai(endpoint.llamaindex())`. */
  llamaindex(): {
    readonly model: string;
    readonly apiKey: string;
    readonly baseURL: string;
    readonly maxRetries: 0;
    readonly timeout: number;
    readonly additionalSessionOptions: { readonly fetch: typeof globalThis.fetch };
  };
  /** Environment variables for a child process, whose calls go over HTTP. */
  env(): {
    readonly OPENAI_BASE_URL: string;
    readonly OPENAI_API_KEY: string;
    readonly OPENAI_AGENTS_DISABLE_TRACING: '1';
  };
}

export function createAgentEndpoint({
  baseURL,
  apiKey,
  keyedBaseURL,
  model,
  fetch,
}: EndpointAddress): AgentEndpoint {
  const maxRetries = 0;
  // Stands for no timeout, because the rollout limits the duration of calls.
  const timeout = longestTimer;
  return {
    baseURL,
    apiKey,
    keyedBaseURL,
    model,
    fetch,
    openai: () => ({ baseURL, apiKey, fetch, maxRetries, timeout }),
    aiSdk: () => ({ name: 'trinity', baseURL, apiKey, fetch }),
    langchain: () => ({ model, apiKey, maxRetries, configuration: { baseURL, fetch } }),
    // Mastra drops everything before the first slash.
    mastra: () => ({ id: `trinity/${model}`, url: baseURL, apiKey }),
    agentscope: () => ({ modelName: model, apiKey, baseURL, stream: false, maxRetries }),
    llamaindex: () => ({
      model,
      apiKey,
      baseURL,
      maxRetries,
      timeout,
      additionalSessionOptions: { fetch },
    }),
    env: () => ({
      OPENAI_BASE_URL: baseURL,
      OPENAI_API_KEY: apiKey,
      OPENAI_AGENTS_DISABLE_TRACING: '1',
    }),
  };
}
