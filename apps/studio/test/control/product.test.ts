import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterFile } from '@trinity-rft/test-support';
import { expect, it } from 'vitest';
import { askProduct } from '../../src/control/playground/product.js';

async function answerOf(onRequest: RequestListener): Promise<unknown> {
  const server = createServer(onRequest).listen(0, '127.0.0.1');
  afterFile(() => server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const messages = [{ role: 'user' as const, content: 'a' }];
  const given = { url, apiKey: 'k'.repeat(40), messages, temperature: 1, maxTokens: 1, seed: 1 };
  const { signal } = new AbortController();
  const answer = askProduct(given, signal, 100);
  return answer.catch((error: Error) => error.message).finally(() => server.closeAllConnections());
}

it.each<[when: string, onRequest: RequestListener]>([
  ['begins', () => undefined],
  ['ends', (_, response) => void response.writeHead(200).write('{')],
])('says that a product is slow when no answer %s in time', async (_, onRequest) => {
  expect(await answerOf(onRequest)).toContain('took more than 0.1 s for this answer');
});
