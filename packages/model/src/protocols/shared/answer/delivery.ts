/** Delivers an answer when it is ready: whole or in pieces, with heartbeats until then. */
import type { Clock } from '@trinity-rft/core';
import type { Answer } from './answer.js';
import { bodyStream, type DeliveryListener, type NextPieces } from './body-stream.js';
import type { AnswerEncoding } from './encodings.js';

/** One client's share in an answer that is being generated, or is ready. */
export interface PendingAnswer<T> extends DeliveryListener {
  /** Rejects with a CancelledError as soon as the client has disconnected. */
  readonly result: Promise<T>;
}

export interface Heartbeat {
  /** Before the first one, in ms. Until then the status of the answer is open. @default 200_000 */
  readonly afterMs: number;
  /** Between two, in ms. @default 15_000 */
  readonly everyMs: number;
}

export interface HeartbeatOptions {
  /**
   * Sent while an answer takes long; the defaults stay below the 300 s after which Node's fetch
   * gives up.
   */
  readonly heartbeat?: Partial<Heartbeat>;
}

export interface DeliveryOptions extends HeartbeatOptions {
  readonly runtime: { readonly clock: Clock };
}

/**
 * Waits for the answer. A failure before the first heartbeat is thrown, so that it gets its own
 * status; a later one is written into the body.
 */
export async function deliver<T>(
  pending: PendingAnswer<T>,
  encoding: AnswerEncoding<T>,
  { heartbeat, runtime: { clock } }: DeliveryOptions,
): Promise<Answer> {
  const { afterMs = 200_000, everyMs = 15_000 } = heartbeat ?? {};
  const ready = await withinTime(pending.result, afterMs, clock);
  if (!ready) {
    const next = piecesOrHeartbeat(pending, encoding, everyMs, clock);
    return inPieces(encoding, bodyStream(next, pending, encoding.heartbeat));
  }
  const pieces = encoding.pieces(ready.answer);
  const [text = ''] = pieces;
  if (pieces.length > 1)
    return inPieces(
      encoding,
      bodyStream(() => Promise.resolve(pieces), pending),
    );
  return {
    status: 200,
    headers: {
      'content-type': encoding.contentType,
      'cache-control': 'no-cache',
      'content-length': `${Buffer.byteLength(text)}`,
    },
    text,
    delivered: () => pending.delivered(),
    lost: () => pending.lost(),
  };
}

/**
 * With `transfer-encoding`, servers write each piece before they take the next, so they notice a
 * client that disconnects in between.
 */
const inPieces = (
  { contentType }: Pick<AnswerEncoding<never>, 'contentType'>,
  body: ReadableStream<Uint8Array>,
): Response =>
  new Response(body, {
    headers: {
      'content-type': contentType,
      'cache-control': 'no-cache',
      'transfer-encoding': 'chunked',
    },
  });

/** The first heartbeat is due at once. */
function piecesOrHeartbeat<T>(
  { result }: PendingAnswer<T>,
  encoding: AnswerEncoding<T>,
  everyMs: number,
  clock: Clock,
): NextPieces {
  let first = true;
  return async (stopped) => {
    if (first) {
      first = false;
      return undefined;
    }
    try {
      const ready = await withinTime(result, everyMs, clock, stopped);
      return ready && encoding.pieces(ready.answer);
    } catch (error) {
      return [encoding.failure(error)];
    }
  };
}

/** The answer, or undefined when it takes longer than `ms`. */
async function withinTime<T>(
  result: Promise<T>,
  ms: number,
  clock: Clock,
  stopped?: AbortSignal,
): Promise<{ readonly answer: T } | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const giveUp = (): void => resolve(undefined);
  const stopTimer = clock.after(ms, giveUp);
  if (stopped?.aborted) giveUp();
  stopped?.addEventListener('abort', giveUp);
  try {
    return await Promise.race([result.then((answer) => ({ answer })), late]);
  } finally {
    stopped?.removeEventListener('abort', giveUp);
    stopTimer();
  }
}
