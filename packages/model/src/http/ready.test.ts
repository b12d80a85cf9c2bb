import { testRuntime } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { openEndpointServer } from './server.js';

it('says without a key whether the server takes calls, and why not', async () => {
  const state: { reason?: string } = {};
  await using stack = new AsyncDisposableStack();
  const open = async (unready?: () => string | undefined): Promise<string> => {
    const server = await openEndpointServer({ runtime: testRuntime(), unready });
    stack.defer(() => server.close());
    return `${server.url}/ready`;
  };
  const url = await open(() => state.reason);
  const ask = async (): Promise<unknown> => {
    const response = await fetch(url);
    return [response.status, await response.json()];
  };
  expect(await ask()).toEqual([200, { status: 'ready' }]);
  state.reason = 'draining';
  expect(await ask()).toEqual([503, { status: 'not ready', reason: 'draining' }]);
  expect((await fetch(await open())).status).toBe(401);
});
