/** The model of a rollout as an AI SDK model. */
import { describeError, ModelError } from '@trinity-rft/core';
import type { AgentEndpoint } from '@trinity-rft/workflow';

/**
 * Settings for `createOpenAI` and `createOpenAICompatible`; `createOpenAI` ignores
 * `supportsStructuredOutputs` and `includeUsage`.
 */
export interface ProviderSettings {
  readonly name: string;
  readonly baseURL: string;
  readonly apiKey: string;
  readonly fetch: typeof globalThis.fetch;
  /** True to send `Output.object` schemas in full, although the endpoint does not enforce them. */
  readonly supportsStructuredOutputs: boolean;
  /** True to request token counts for streams as well. */
  readonly includeUsage: boolean;
}

/**
 * Provider factory: `createOpenAI` or `createOpenAICompatible`, in the major version that fits your
 * `ai`.
 */
export type CreateProvider<Model = unknown> = (
  settings: ProviderSettings,
) => (modelId: string) => Model;

/** Type of a provider's models. */
export type ModelOf<Create extends CreateProvider> = ReturnType<ReturnType<Create>>;

/**
 * The model of a rollout for `generateText`, `streamText` and agents. The provider determines the
 * API: `createOpenAI` uses the Responses API, `createOpenAICompatible` Chat Completions. Failed
 * calls are not retried, because the explorer retries whole rollouts.
 */
export function aiSdkModel<Create extends CreateProvider>(
  endpoint: AgentEndpoint,
  createProvider: Create,
): ModelOf<Create> {
  const settings = {
    ...endpoint.aiSdk(),
    fetch: withoutRetries(endpoint.fetch),
    supportsStructuredOutputs: true,
    includeUsage: true,
  };
  return createProvider(settings)(endpoint.model) as ModelOf<Create>;
}

/** Returns true for HTTP statuses on which the AI SDK would retry. */
const isRetried = (status: number): boolean => status >= 500 || [408, 409, 429].includes(status);

/**
 * Wraps `fetch` so that it throws for responses that the AI SDK would retry. If `fetch` throws, the
 * AI SDK retries only failed connections.
 */
function withoutRetries(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!isRetried(response.status)) return response;
    throw await toModelError(response);
  };
}

async function toModelError(response: Response): Promise<ModelError> {
  const { status } = response;
  const text = await response.text();
  const retryable = status >= 500 || status === 429;
  let body: { readonly message?: unknown; readonly code?: unknown } = {};
  try {
    body = (JSON.parse(text) as { readonly error?: typeof body }).error ?? {};
  } catch (cause) {
    return new ModelError(
      `The model's endpoint answered with status ${status} and no JSON: ${describeError(cause)}`,
      { status, retryable, cause },
    );
  }
  const { message, code } = body;
  return new ModelError(
    typeof message === 'string' ? message : `The model's endpoint answered with status ${status}.`,
    { status, retryable, code: typeof code === 'string' ? code : undefined },
  );
}
