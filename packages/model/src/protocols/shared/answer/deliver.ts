/**
 * Answers on their way to a client: whole or as a stream, with signs of life while they take long.
 */
import type { Clock } from '@trinity-rft/core';
import type { Answer } from './answer.js';
import type { Recorded, Taken } from '../request-deduplication.js';
import { defaultHeartbeat, type EndpointPolicy } from '../endpoint-policy.js';

/** How a finished answer is written. */
export interface Form<T> {
  readonly contentType: string;
  /** Means nothing to a client. */
  readonly heartbeat: string;
  /** At least one piece; after the last one the client has everything. */
  readonly pieces: (answer: T) => readonly string[];
  /** An error once headers are out and the status says 200. */
  readonly failure: (error: unknown) => string;
}

export interface DeliverOptions extends Pick<EndpointPolicy, 'heartbeat'> {
  readonly runtime: { readonly clock: Clock };
}

/**
 * Waits for the answer; a failure within the time before the first heartbeat is thrown, so that it
 * gets its own status. A client counts as served when it has taken the last piece. Cancelling the
 * body means the client has gone.
 */
export async function deliver<T extends Recorded>(
  taken: Taken<T>,
  form: Form<T>,
  options: DeliverOptions,
): Promise<Answer> {
  const { clock } = options.runtime;
  const { afterMs, everyMs } = { ...defaultHeartbeat, ...options.heartbeat };
  const early = await withinTime(taken.result, afterMs, clock);
  const headers = { 'content-type': form.contentType, 'cache-control': 'no-cache' };
  if (early) {
    const pieces = form.pieces(early.answer);
    const [text = ''] = pieces;
    if (pieces.length === 1)
      return whole(text, { ...headers, 'content-length': `${Buffer.byteLength(text)}` }, taken);
    return new Response(
      body(taken, () => Promise.resolve(pieces)),
      { headers: { ...headers, ...inPieces } },
    );
  }
  let beats = 0;
  return new Response(
    body(
      taken,
      async (stop) => {
        if (beats++ === 0) return undefined;
        try {
          const now = await withinTime(taken.result, everyMs, clock, stop);
          return now && form.pieces(now.answer);
        } catch (error) {
          return [form.failure(error)];
        }
      },
      form.heartbeat,
    ),
    { headers: { ...headers, ...inPieces } },
  );
}

const whole = (
  text: string,
  headers: Readonly<Record<string, string>>,
  taken: Taken<unknown>,
): Answer => ({
  status: 200,
  headers,
  text,
  delivered: () => taken.delivered(),
  lost: () => taken.lost(),
});

/**
 * Makes servers write each piece before they take the next, so that a client that leaves in between
 * is noticed.
 */
const inPieces = { 'transfer-encoding': 'chunked' };

/**
 * Asks `next` for the pieces until it has some, one heartbeat each time it has not. Nothing is made
 * before it is read.
 */
export function body(
  taken: Pick<Taken<unknown>, 'delivered' | 'lost'>,
  next: (stop: AbortSignal) => Promise<readonly string[] | undefined>,
  heartbeat = '',
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const stop = new AbortController();
  let pieces: readonly string[] | undefined;
  let written = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        pieces ??= await next(stop.signal);
        if (stop.signal.aborted) return;
        controller.enqueue(encoder.encode(pieces ? pieces[written++]! : heartbeat));
        if (!pieces || written < pieces.length) return;
        taken.delivered();
        controller.close();
      },
      cancel: () => {
        stop.abort();
        taken.lost();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The answer, or undefined when it takes longer than `ms`. */
async function withinTime<T>(
  result: Promise<T>,
  ms: number,
  clock: Clock,
  stop?: AbortSignal,
): Promise<{ readonly answer: T } | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const end = (): void => resolve(undefined);
  const callOff = clock.after(ms, end);
  if (stop?.aborted) end();
  stop?.addEventListener('abort', end);
  try {
    return await Promise.race([result.then((answer) => ({ answer })), late]);
  } finally {
    stop?.removeEventListener('abort', end);
    callOff();
  }
}
