/** Client for a product that `trinity serve` serves: requests responses, and sends feedback. */
import { ConfigError } from '@trinity-rft/core';
import { knowSecret } from '@trinity-rft/core/support';
import { createServeClient, type ServeClient } from '@trinity-rft/serve';
import type { AskProduct, ProductAnswer } from '../interface/index.js';

const answerMs = 120_000;
const alternatives = 5;

export function productClient({ url, apiKey }: Pick<AskProduct, 'url' | 'apiKey'>): ServeClient {
  knowSecret(apiKey);
  return createServeClient({ baseUrl: url, apiKey });
}

interface Choice {
  readonly message?: { readonly content?: string | null };
  readonly logprobs?: {
    readonly content?: readonly (TokenOf & { readonly top_logprobs?: readonly TokenOf[] })[] | null;
  } | null;
}
interface TokenOf {
  readonly token: string;
  readonly logprob: number;
}
interface Completion {
  readonly id?: string;
  readonly choices?: readonly Choice[];
  readonly error?: { readonly message?: string };
}

/**
 * Sends a conversation to the product and returns its response.
 * @throws ConfigError if the server does not respond in time, or responds with an error
 */
export async function askProduct(
  given: AskProduct,
  signal: AbortSignal,
  deadlineMs = answerMs,
): Promise<ProductAnswer> {
  const { baseURL, apiKey } = productClient(given).openai();
  const { messages, temperature, maxTokens } = given;
  const body = {
    ...{ model: 'any', messages, temperature, max_tokens: maxTokens },
    ...{ logprobs: true, top_logprobs: alternatives },
  };
  const deadline = AbortSignal.timeout(deadlineMs);
  const late = (cause: unknown): ConfigError =>
    new ConfigError(
      `${baseURL} took more than ${deadlineMs / 1000} s for this answer. Lower the maximum number of tokens.`,
      { code: 'SERVER_LATE', cause },
    );
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, deadline]),
  }).catch((cause: unknown) => {
    if (deadline.aborted) throw late(cause);
    throw new ConfigError(
      `${baseURL} does not answer. Expected the address of a server started with trinity serve.`,
      { code: 'SERVER_UNREACHABLE', cause },
    );
  });
  const { id, choices, error } = (await response.json().catch((cause: unknown) => {
    if (deadline.aborted) throw late(cause);
    return {};
  })) as Completion;
  const choice = choices?.[0];
  if (!response.ok || id === undefined || choice === undefined)
    throw new ConfigError(
      `${baseURL} answered with status ${response.status}. ${error?.message ?? ''}`.trim(),
      { code: 'SERVER_REFUSED' },
    );
  const tokens = (choice.logprobs?.content ?? []).map(
    ({ token, logprob, top_logprobs: top = [] }) => ({
      text: token,
      logprob,
      top: top.map((other) => ({ text: other.token, logprob: other.logprob })),
    }),
  );
  return { id, text: choice.message?.content ?? '', tokens };
}
