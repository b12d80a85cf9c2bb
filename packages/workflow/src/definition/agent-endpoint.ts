/**
 * Address of a run's model, as the settings that each agent framework expects. Plain objects, so
 * that no framework becomes a dependency.
 */

/** Address of one run's model. Calls through it are recorded for that run only. */
export interface EndpointAddress {
  /** Root of the API, which ends in `/v1`. */
  readonly baseURL: string;
  /** Key for this run only, valid until the run ends; for a remote model, the service's key. */
  readonly apiKey: string;
  /**
   * URL that contains the key, and is as secret as the key: for clients that send a key of their
   * own. Undefined for models of other services, and if there is no HTTP address.
   */
  readonly keyedBaseURL?: string | undefined;
  /** Value for the `model` field of requests, although any other value is accepted too. */
  readonly model: string;
  /** Serves the same endpoint within this process; use it instead of the global `fetch`. */
  readonly fetch: typeof globalThis.fetch;
}

/**
 * Address and key with which an agent calls the model of its run. Where a framework has a setting
 * for retries, they are off, because the explorer retries whole runs.
 */
export interface AgentEndpoint extends EndpointAddress {
  /** Settings of OpenAI's client: `new OpenAI(endpoint.openai())`. */
  openai(): {
    readonly baseURL: string;
    readonly apiKey: string;
    readonly fetch: typeof globalThis.fetch;
    readonly maxRetries: 0;
    readonly timeout: number;
  };
  /**
   * Settings of the AI SDK: `createOpenAICompatible(endpoint.aiSdk())(endpoint.model)` or
   * `createOpenAI(endpoint.aiSdk())(endpoint.model)`. Retries are a setting of each call:
   * `generateText({ maxRetries: 0, ... })`.
   */
  aiSdk(): {
    readonly name: string;
    readonly baseURL: string;
    readonly apiKey: string;
    readonly fetch: typeof globalThis.fetch;
  };
  /** Settings of LangChain: `new ChatOpenAI(endpoint.langchain())`. */
  langchain(): {
    readonly model: string;
    readonly apiKey: string;
    readonly maxRetries: 0;
    readonly configuration: { readonly baseURL: string; readonly fetch: typeof globalThis.fetch };
  };
  /**
   * Settings of Mastra, whose calls go over HTTP: `agent.generate(prompt, { model:
   * endpoint.mastra() })`.
   */
  mastra(): { readonly id: `${string}/${string}`; readonly url: string; readonly apiKey: string };
  /**
   * Settings of AgentScope, whose calls go over HTTP: `new OpenAIChatModel(endpoint.agentscope())`.
   */
  agentscope(): {
    readonly modelName: string;
    readonly apiKey: string;
    readonly baseURL: string;
    readonly stream: false;
    readonly maxRetries: 0;
  };
  /** Settings of LlamaIndex: `openai(endpoint.llamaindex())`. */
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

/** The longest delay of setTimeout, used because the run limits the time of a call. */
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
