/** The model of a run as the AI SDK knows models. */
import { describeError, ModelError } from '@trinity-rft/core';
import type { AgentEndpoint } from '@trinity-rft/workflow';

/**
 * Settings as `createOpenAI` and `createOpenAICompatible` take them, and more that only the latter
 * knows.
 */
export interface ProviderSettings {
  readonly name: string;
  readonly baseURL: string;
  readonly apiKey: string;
  readonly fetch: typeof globalThis.fetch;
  /** Sends schemas of `Output.object` in full; the endpoint does not force the model into them. */
  readonly supportsStructuredOutputs: boolean;
  /** Asks for token counts of streams as well. */
  readonly includeUsage: boolean;
}

/**
 * `createOpenAI` of `@ai-sdk/openai`, or `createOpenAICompatible`; of any major, so that the model
 * fits your version of `ai`.
 */
export type CreateProvider<Model> = (settings: ProviderSettings) => (modelId: string) => Model;

/**
 * The model of a run for `generateText`, `streamText` and agents. Whose provider it is decides
 * about the API: `createOpenAI` speaks Responses, `createOpenAICompatible` chat completions. A call
 * that fails is not repeated: the scheduler decides about that.
 */
export function aiSdkModel<Model>(
  endpoint: AgentEndpoint,
  createProvider: CreateProvider<Model>,
): Model {
  const settings = {
    ...endpoint.aiSdk(),
    fetch: failingFast(endpoint.fetch),
    supportsStructuredOutputs: true,
    includeUsage: true,
  };
  return createProvider(settings)(endpoint.model);
}

/** Statuses after which the AI SDK waits and tries again. */
const repeated = (status: number): boolean => status >= 500 || [408, 409, 429].includes(status);

/**
 * What a `fetch` throws, other than a failed connection, reaches the caller of `generateText` as it
 * is.
 */
function failingFast(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!repeated(response.status)) return response;
    throw await toModelError(response);
  };
}

async function toModelError(response: Response): Promise<ModelError> {
  const { status } = response;
  const text = await response.text();
  const retryable = status >= 500 || status === 429;
  let told: { readonly message?: unknown; readonly code?: unknown } = {};
  try {
    told = (JSON.parse(text) as { readonly error?: typeof told }).error ?? {};
  } catch (cause) {
    return new ModelError(
      `The model's endpoint answered with status ${status} and no JSON: ${describeError(cause)}`,
      {
        status,
        retryable,
        cause,
      },
    );
  }
  const { message, code } = told;
  return new ModelError(
    typeof message === 'string' ? message : `The model's endpoint answered with status ${status}.`,
    {
      status,
      retryable,
      ...(typeof code === 'string' && { code }),
    },
  );
}
