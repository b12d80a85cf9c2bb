/** Tests the contract of environments over the official MCP SDK. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { expect, it, onTestFinished } from 'vitest';
import type { McpServer } from '../../src/drivers/mcp/server.js';
import { mcpEnvironment } from '../../src/drivers/mcp/mcp-environment.js';
import { checkEnvironment, rowsOfSplit, type EnvironmentDefinition } from '../../src/index.js';
import { counterServer } from './counter-server.mjs';

/** Environment whose policy computes a sum and then a product: `(0 + a) * b`. */
const counter = (server: McpServer): EnvironmentDefinition =>
  mcpEnvironment({
    name: 'counter',
    description: 'Make a number of 0.',
    play: { maxTurns: 4 },
    server: () => server,
    prompt: ({ row }) => `Add ${String(row['a'])}, multiply by ${String(row['b'])}.`,
    tasks: (range) =>
      rowsOfSplit(
        range,
        (seed) => ({ a: 2 + (seed % 97), b: 2 + ((seed >>> 8) % 89) }),
        ({ a, b }) => `${String(a)} ${String(b)}`,
      ),
    reward: ({ row, calls }) =>
      Number(calls.at(-1)?.result) === Number(row['a']) * Number(row['b']) ? 1 : 0,
    solver: ({ row }) => {
      const calls = [
        ['add', row['a']],
        ['multiply', row['b']],
      ] as const;
      let turn = 0;
      return () => {
        const [name, n] = calls[turn++] ?? [];
        if (name === undefined) return { type: 'text', text: 'Done.' };
        return { type: 'tool', name, arguments: { n } };
      };
    },
  });

/**
 * Serves a session to every client.
 * @returns the server's address and the number of sessions
 */
async function serve() {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await counterServer().connect(transport);
    return transport;
  };
  const server = createServer((request, response) => {
    const known = sessions.get(String(request.headers['mcp-session-id']));
    const transport = known === undefined ? open() : Promise.resolve(known);
    void transport.then((opened) => opened.handleRequest(request, response));
  });
  // After a pause of seconds, a client would write to connections that the server has just closed.
  server.keepAliveTimeout = 0;
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, sessions };
}

it('is kept over HTTP, with a session for each of 100 episodes', async () => {
  const { url, sessions } = await serve();
  const results = await checkEnvironment(counter({ url }));
  expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  expect(results).toContainEqual({
    name: 'its solver earns a reward in every task',
    outcome: 'passed',
    detail: '20 of 20 tasks, mean reward 1.000',
  });
  expect(sessions.size).toBeGreaterThan(120);
});

it('is kept over standard input and output, with a process for each episode', async () => {
  const args = [fileURLToPath(new URL('counter-server.mjs', import.meta.url)), 'stdio'];
  const results = await checkEnvironment(counter({ command: process.execPath, args }), {
    rows: [{ a: 3, b: 4 }],
    episodesAtOnce: 2,
  });
  expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
});
