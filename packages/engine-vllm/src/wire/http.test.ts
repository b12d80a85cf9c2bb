import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { serverCalls } from './http.js';

/** Answers `answered` requests of a connection, and resets the connection at the next request. */
async function resetting(answered: number): Promise<{ url: string; requests: number[] }> {
  /** Number of requests on each connection. */
  const requests: number[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    const connection = requests.push(0) - 1;
    socket.on('error', () => undefined);
    socket.on('data', () => {
      requests[connection]!++;
      if (requests[connection]! > answered) socket.resetAndDestroy();
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

const options = () => ({ signal: AbortSignal.timeout(20_000) });

it('a request is repeated on a new connection when a kept one was closed', async () => {
  const { url, requests } = await resetting(1);
  const call = serverCalls({ url });
  // Three connections are kept alive, and the server resets each at its second request.
  await Promise.all([call('/a', options()), call('/b', options()), call('/c', options())]);
  await sleep(10);
  expect(await call('/d', { ...options(), body: {} })).toEqual({});
  expect(requests.filter((count) => count === 2).length).toBeGreaterThan(0);
});

it('a new connection that is reset is the fault of the server', async () => {
  const { url, requests } = await resetting(0);
  await expect(serverCalls({ url })('/a', options())).rejects.toMatchObject({ kind: 'lost' });
  expect(requests).toEqual([1]);
});

it('a connection is not used again when it was idle for as long as servers keep it', async () => {
  const { url, requests } = await resetting(9);
  const call = serverCalls({ url });
  await call('/a', options());
  await call('/b', options());
  await sleep(4500);
  await call('/c', options());
  expect(requests).toEqual([2, 1]);
});
