/** Response bodies that report whether the client received them. */

/** Called once, with one of the two outcomes. */
export interface DeliveryListener {
  /** The client received the whole answer. */
  delivered(): void;
  /** The client disconnected before. */
  lost(): void;
}

/** Resolves to the pieces of the answer, or to undefined when a heartbeat is due. */
export type NextPieces = (stopped: AbortSignal) => Promise<readonly string[] | undefined>;

/**
 * Asks `next` until it has the pieces, and sends a heartbeat each time it has not. Nothing is
 * produced before the client reads. The answer counts as delivered when the client has read the
 * last piece; cancelling the stream means that the client has disconnected.
 */
export function bodyStream(
  next: NextPieces,
  listener: DeliveryListener,
  heartbeat = '',
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const stopped = new AbortController();
  let pieces: readonly string[] | undefined;
  let written = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        pieces ??= await next(stopped.signal);
        if (stopped.signal.aborted) return;
        controller.enqueue(encoder.encode(pieces?.[written++] ?? heartbeat));
        if (!pieces || written < pieces.length) return;
        listener.delivered();
        controller.close();
      },
      cancel: () => {
        stopped.abort();
        listener.lost();
      },
    },
    { highWaterMark: 0 },
  );
}
