/** Makes the model of a rollout available as an AI SDK model. */
import { ModelError } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';
import type { AgentEndpoint } from '@trinity-rft/workflow';

/**
 * Settings that `createOpenAI` and `createOpenAICompatible` accept. `createOpenAI` ignores
 * `supportsStructuredOutputs` and `includeUsage`.
 */
export interface ProviderSettings {
  readonly name: string;
  readonly baseURL: string;
  readonly apiKey: string;
  readonly fetch: typeof globalThis.fetch;
  /** True to send the schemas of `Output.object` in full. The endpoint does not enforce them. */
  readonly supportsStructuredOutputs: boolean;
  /** True to request the token counts of streamed responses. */
  readonly includeUsage: boolean;
}

/**
 * Function that creates a provider: `createOpenAI` or `createOpenAICompatible`, from the major
 * version that fits the installed version of `ai`.
 */
export type CreateProvider<Model = unknown> = (
  settings: ProviderSettings,
) => (modelId: string) => Model;

/** Model type of the provider that `Create` creates. */
export type ModelOf<Create extends CreateProvider> = ReturnType<ReturnType<Create>>;

/**
 * Creates a model object for `generateText`, `streamText` and agents that calls the model of a
 * rollout. The provider determines the API: `createOpenAI` uses the Responses API, and
 * `createOpenAICompatible` uses Chat Completions. Failed calls are not retried, because the
 * explorer retries whole rollouts.
 */
export function aiSdkModel<Create extends CreateProvider>(
  endpoint: AgentEndpoint,
  createProvider: Create,
): ModelOf<Create> {
  const settings = {
    ...endpoint.aiSdk(),
    fetch: withoutRetries(endpoint),
    supportsStructuredOutputs: true,
    includeUsage: true,
  };
  return createProvider(settings)(endpoint.model) as ModelOf<Create>;
}

/** Returns true for HTTP statuses after which the AI SDK would retry a call. */
const isRetried = (status: number): boolean => status >= 500 || [408, 409, 429].includes(status);

/**
 * Wraps `fetch` so that it throws for responses after which the AI SDK would retry. If `fetch`
 * itself throws, the AI SDK retries only if the connection failed.
 */
function withoutRetries(endpoint: AgentEndpoint): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await endpoint.fetch(input, init);
    if (!isRetried(response.status)) return response;
    throw await toModelError(response, endpoint);
  };
}

async function toModelError(
  response: Response,
  { model, baseURL }: Pick<AgentEndpoint, 'model' | 'baseURL'>,
): Promise<ModelError> {
  const { status } = response;
  const text = await response.text();
  const body = tryJson(text) as { readonly error?: Readonly<Record<string, unknown>> } | undefined;
  const { message, code } = body?.error ?? {};
  const said = typeof message === 'string' ? message : text.slice(0, 200);
  return new ModelError(
    `The model "${model}" at ${new URL(baseURL).host} answered with status ${status}: ${said}`,
    {
      status,
      retryable: status >= 500 || status === 429,
      code: typeof code === 'string' ? code : undefined,
    },
  );
}
