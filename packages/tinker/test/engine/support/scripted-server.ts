/**
 * HTTP server that answers each verb as the test specifies, to simulate faults that real servers
 * rarely have.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body of the reply: JSON or protobuf bytes. */
  readonly body?: unknown;
}

export interface Received {
  readonly path: string;
  readonly key: string | undefined;
  /** Parsed JSON; undefined if the body is bytes. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
  readonly bytes: Uint8Array;
}

export interface ScriptedServer {
  readonly url: string;
  readonly received: readonly Received[];
  close(): Promise<void>;
}

/** `silent`: the connection stays open without an answer. */
export type Answer = Reply | 'cut' | 'silent';

export async function scriptedServer(
  answer: (request: Received) => Answer,
): Promise<ScriptedServer> {
  const received: Received[] = [];
  const reply = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const request = await read(incoming);
    received.push(request);
    const chosen = answer(request);
    if (chosen === 'silent') return;
    if (chosen === 'cut') {
      outgoing.destroy();
      return;
    }
    const { status = 200, headers = {}, body = {} } = chosen;
    const binary = body instanceof Uint8Array;
    const type = binary ? 'application/x-protobuf' : 'application/json';
    outgoing.writeHead(status, { 'content-type': type, ...headers });
    outgoing.end(binary ? body : JSON.stringify(body));
  };
  const server = createServer((incoming, outgoing) => void reply(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function read(incoming: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const bytes = new Uint8Array(Buffer.concat(chunks));
  const isJson = incoming.headers['content-type'] === 'application/json';
  const text = new TextDecoder().decode(bytes);
  return {
    path: incoming.url ?? '',
    key: incoming.headers['x-api-key'] as string | undefined,
    json: isJson ? (JSON.parse(text) as Readonly<Record<string, unknown>>) : undefined,
    bytes,
  };
}
