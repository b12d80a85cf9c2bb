/** Proxy between an HTTP client and its server. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type ChaosOptions, createLane, faultKinds } from './faults.js';
import { listening, type Proxy } from './proxy.js';

/**
 * Starts the proxy.
 * @param target `http://HOST:PORT`
 */
export const httpProxy = (target: string, chaos: ChaosOptions): Promise<Proxy> =>
  listening(
    createServer((request, response) => {
      void forward(target, chaos, request, response);
    }),
  );

/** Headers that apply to one connection only. */
const dropped: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'keep-alive',
  'content-length',
  'content-encoding',
  'transfer-encoding',
]);

/** Kinds of faults that occur with HTTP: no client repeats a POST, and no request is answered twice. */
const kinds = faultKinds.filter((kind) => kind !== 'duplicate');

/** Forwards a request and its answer, which count as two messages. */
export async function forward(
  target: string,
  chaos: ChaosOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const kill = (): void => void request.socket.destroy();
  const answer = createLane({
    ...chaos,
    kinds,
    kill,
    send: (message, isCut = false) => {
      const length = Buffer.byteLength(message) + (isCut ? 100 : 0);
      response.setHeader('content-length', length);
      if (isCut) response.write(message, kill);
      else response.end(message);
    },
  });
  const ask = async (body: string): Promise<void> => {
    const { method = 'GET', url = '/', headers } = request;
    const kept = Object.entries(headers).filter(([name]) => !dropped.has(name));
    const answered = await fetch(`${target}${url}`, {
      method,
      headers: Object.fromEntries(kept) as Record<string, string>,
      body: body === '' ? undefined : body,
    });
    response.statusCode = answered.status;
    for (const [name, value] of answered.headers)
      if (!dropped.has(name)) response.setHeader(name, value);
    answer(await answered.text());
  };
  const send = (body: string, isCut = false): void => {
    if (isCut) kill();
    else void ask(body).catch(kill);
  };
  createLane({ ...chaos, kinds, kill, send })(await text(request));
}
