/** Server-sent events. */

const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };

/** A stream of JSON events that ends with `[DONE]`. Everything is there already, so it is one piece. */
export function eventStream(events: readonly object[]): Response {
  const text = [...events.map((event) => JSON.stringify(event)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('');
  return new Response(text, { headers });
}
