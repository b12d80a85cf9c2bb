/**
 * From a request that was understood to the response: generated once, delivered as often as it is
 * asked for again.
 */
import type { Answer } from './answer/answer.js';
import { deliver, type Form } from './answer/deliver.js';
import type { Recorded } from './request-deduplication.js';
import type { RouteContext } from './route.js';

/**
 * @param digest of the request's body
 * @param work the generation; its signal aborts when no client waits any more, or the request
 * itself was given up
 */
export function serve<T extends Recorded>(
  request: Request,
  digest: string,
  context: RouteContext,
  form: Form<T>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<Answer> {
  const key = `${new URL(request.url).pathname} ${digest}`;
  const taken = context.book.take({ key, repeats: repeats(request), signal: request.signal }, work);
  return deliver(taken, form, context);
}

/** Clients made with OpenAI's generator count their attempts; others say nothing. */
const repeats = (request: Request): boolean =>
  Number(request.headers.get('x-stainless-retry-count') ?? 0) > 0;
