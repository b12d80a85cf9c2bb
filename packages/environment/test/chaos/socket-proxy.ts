/** Proxy between an OpenEnv client and its server. */
import { createServer } from 'node:http';
import { WebSocket, WebSocketServer } from 'ws';
import { type ChaosOptions, createLane } from './faults.js';
import { forward } from './http-proxy.js';
import { listening, type Proxy } from './proxy.js';

/**
 * Starts the proxy.
 * @param target `http://HOST:PORT`
 */
export async function socketProxy(target: string, chaos: ChaosOptions): Promise<Proxy> {
  const server = createServer((request, response) => {
    void forward(target, chaos, request, response);
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (client, { url = '/' }) =>
    connect(client, new WebSocket(`${target.replace(/^http/, 'ws')}${url}`), chaos),
  );
  return listening(server);
}

function connect(client: WebSocket, upstream: WebSocket, chaos: ChaosOptions): void {
  const kill = (): void => {
    client.terminate();
    upstream.terminate();
  };
  const isOpen = new Promise((resolve) => upstream.once('open', resolve));
  const toServer = createLane({
    ...chaos,
    kill,
    send: (message) => void isOpen.then(() => upstream.send(message, () => undefined)),
  });
  const toClient = createLane({
    ...chaos,
    kill,
    send: (message) => client.send(message, () => undefined),
  });
  client.on('message', (data: Buffer) => toServer(data.toString()));
  upstream.on('message', (data: Buffer) => toClient(data.toString()));
  for (const socket of [client, upstream]) socket.on('close', kill).on('error', kill);
}
