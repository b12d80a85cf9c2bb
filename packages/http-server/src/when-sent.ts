/** Reports when a client has received a response, including a streamed response. */

/**
 * Returns a response with the same content, and calls `ended` once: when the client has received
 * all of it or has disconnected, or when its body fails. Without a body, calls `ended` immediately.
 * @param onChunk called with each chunk of the body before it is sent
 */
export function whenSent(
  response: Response,
  ended: () => void,
  onChunk?: (chunk: Uint8Array) => void,
): Response {
  const { body, status, headers } = response;
  if (!body) {
    ended();
    return response;
  }
  let isEnded = false;
  const end = (): void => {
    if (isEnded) return;
    isEnded = true;
    ended();
  };
  const reader = body.getReader();
  const passed = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await reader.read().catch((error: unknown) => {
          end();
          throw error;
        });
        if (done) {
          end();
          return controller.close();
        }
        onChunk?.(value);
        controller.enqueue(value);
      },
      cancel: async (reason) => {
        try {
          end();
        } finally {
          await reader.cancel(reason);
        }
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(passed, { status, headers });
}
