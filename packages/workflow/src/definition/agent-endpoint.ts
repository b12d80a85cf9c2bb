/**
 * Provides the URL and key of a rollout's model in the form that each agent framework expects. The
 * settings are plain objects, so that this package does not depend on the frameworks.
 */

/**
 * URL and key of a model for one rollout. Calls to this URL are recorded as calls of this rollout.
 */
export interface EndpointAddress {
  /** Root of the API, which ends in `/v1`. */
  readonly baseURL: string;
  /**
   * API key, which is valid for this rollout only, until the rollout ends. For a remote model, it
   * is the key of the service.
   */
  readonly apiKey: string;
  /**
   * URL that contains the key, for clients that send a key of their own instead. It must be kept
   * secret like the key. Undefined for models of other services, and if there is no HTTP server.
   */
  readonly keyedBaseURL?: string | undefined;
  /** Value for the field `model` of requests. Other values are accepted too. */
  readonly model: string;
  /**
   * Function with which to call the endpoint, instead of the global `fetch`. For the trained model,
   * it does not leave this process; for a remote model, it adds the deadline and the configured
   * settings.
   */
  readonly fetch: typeof globalThis.fetch;
}

/**
 * URL and key with which an agent calls the model of its rollout, as settings for several
 * frameworks. The settings switch off the retries of a framework, because the explorer retries
 * whole rollouts.
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
   * Settings for Mastra, which calls the endpoint over HTTP: `agent.generate(prompt, { model:
   * endpoint.mastra() })`.
   */
  mastra(): { readonly id: `${string}/${string}`; readonly url: string; readonly apiKey: string };
  /**
   * Settings for AgentScope, which calls the endpoint over HTTP: `new
   * OpenAIChatModel(endpoint.agentscope())`.
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
  /** Environment variables for a child process, which calls the endpoint over HTTP. */
  env(): {
    readonly OPENAI_BASE_URL: string;
    readonly OPENAI_API_KEY: string;
    readonly OPENAI_AGENTS_DISABLE_TRACING: '1';
  };
}

/**
 * Longest timeout that a timer supports, in milliseconds. It switches off the timeouts of clients,
 * because the rollout has a time limit of its own.
 */
const noTimeoutMs = 2 ** 31 - 1;

export function createAgentEndpoint({
  baseURL,
  apiKey,
  keyedBaseURL,
  model,
  fetch,
}: EndpointAddress): AgentEndpoint {
  const maxRetries = 0;
  return {
    baseURL,
    apiKey,
    keyedBaseURL,
    model,
    fetch,
    openai: () => ({ baseURL, apiKey, fetch, maxRetries, timeout: noTimeoutMs }),
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
      timeout: noTimeoutMs,
      additionalSessionOptions: { fetch },
    }),
    env: () => ({
      OPENAI_BASE_URL: baseURL,
      OPENAI_API_KEY: apiKey,
      OPENAI_AGENTS_DISABLE_TRACING: '1',
    }),
  };
}
