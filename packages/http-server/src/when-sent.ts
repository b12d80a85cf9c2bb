/** Reports when a client has received a response, including a streamed response. */

/**
 * Returns a response with the same content that calls `ended` once: when the client has received
 * all of it, when the client has disconnected, or when reading the body fails. If there is no body,
 * calls `ended` immediately.
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
