/** Tests npm servers over stdio, a server over HTTP, and a server that fails. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { ConfigError, EnvironmentError, silentLogger } from '@trinity-rft/core';
import { redactText } from '@trinity-rft/core/support';
import { isRunning } from '@trinity-rft/test-support';
import { expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { mcpEnvironment, type McpEnd } from '../../src/drivers/mcp/mcp-environment.js';
import { mcp } from '../../src/drivers/mcp/mcp.js';
import type { Action, EnvironmentDefinition, Episode } from '../../src/index.js';

const { signal } = new AbortController();
const resolve = (name: string): string => createRequire(import.meta.url).resolve(name);
const node = process.execPath;
const call = (name: string, args: Record<string, unknown> = {}): Action => ({
  type: 'tool',
  name,
  arguments: args,
});
const say = (text: string): Action => ({ type: 'text', text });

async function begin(
  definition: EnvironmentDefinition,
  args: Record<string, unknown>,
  row: Record<string, unknown>,
): Promise<Episode> {
  const environment = await definition.open(args, { logger: silentLogger, signal });
  const episode = await environment.reset({ row, seed: 1 }, signal);
  onTestFinished(() => episode.close());
  return episode;
}

const filesystem = {
  command: node,
  args: [resolve('@modelcontextprotocol/server-filesystem/dist/index.js'), '{folder}'],
};

/** Starts an HTTP server for the test, and returns its address for MCP. */
async function listen(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<string> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

it('moves files with the filesystem server, graded by the folder', async () => {
  const row = {
    prompt: 'Move a.txt into the folder done.',
    files: { 'a.txt': 'hello', 'done/b.txt': 'there' },
    expected_files: { 'a.txt': null, 'done/a.txt': 'hello', 'done/b.txt': 'there' },
  };
  const args = { ...filesystem, tools: ['move_file', 'list_directory'] };
  const play = async (actions: readonly Action[]): Promise<readonly unknown[]> => {
    const episode = await begin(mcp, args, row);
    expect(episode.observation).toBe('Move a.txt into the folder done.');
    expect(episode.tools?.map((tool) => tool.function.name)).toEqual([
      'list_directory',
      'move_file',
    ]);
    const seen: unknown[] = [];
    for (const action of actions) seen.push(await episode.step(action, signal));
    await episode.close();
    return seen;
  };
  const [source, destination] = ['/workspace/a.txt', '/workspace/done/a.txt'];
  const [, outside, hidden, moved, end] = await play([
    call('list_directory', { path: '/workspace' }),
    call('list_directory', { path: '/etc' }),
    call('write_file', { path: '/workspace/x', content: '' }),
    call('move_file', { source, destination }),
    say('Moved.'),
  ]);
  expect(outside).toMatchObject({
    refused: true,
    observation: /outside.*\/etc not in \/workspace/,
  });
  expect(hidden).toMatchObject({ refused: true, observation: /no tool "write_file"/ });
  expect(moved).toMatchObject({ refused: false, observation: /moved \/workspace\/a.txt/ });
  expect(end).toMatchObject({ done: true, reward: 1 });
  const [lazy] = await play([say('Moved.')]);
  expect(lazy).toMatchObject({ done: true, reward: 0 });
});

it('grades a file that holds a path as the policy and the row name it', async () => {
  const row = {
    prompt: 'Write the path of the file that holds "x" to answer.txt.',
    files: { 'data/a.txt': 'x' },
    expected_files: { 'answer.txt': '/workspace/data/a.txt' },
  };
  const episode = await begin(mcp, filesystem, row);
  const file = { path: '/workspace/answer.txt', content: '/workspace/data/a.txt' };
  await episode.step(call('write_file', file), signal);
  expect(await episode.step(say('Written.'), signal)).toMatchObject({ done: true, reward: 1 });
});

it('notes a fact with the memory server, graded by a function over the end', async () => {
  const ends: McpEnd[] = [];
  const remember = mcpEnvironment({
    name: 'remember',
    description: 'Note what was said.',
    server: ({ folder }) => ({
      command: node,
      args: [resolve('@modelcontextprotocol/server-memory/dist/index.js')],
      env: { MEMORY_FILE_PATH: `${folder}/memory.json` },
    }),
    reward: (end) => {
      ends.push(end);
      return end.calls.filter(({ name, refused }) => name === 'create_entities' && !refused).length;
    },
  });
  const episode = await begin(remember, {}, { prompt: 'Ada likes tea.' });
  const bad = await episode.step(call('create_entities', { entities: 'Ada' }), signal);
  expect(bad).toMatchObject({ refused: true, observation: /array/ });
  const entities = [{ name: '/workspace/Ada', entityType: 'person', observations: ['likes tea'] }];
  await episode.step(call('create_entities', { entities }), signal);
  expect(await episode.grade?.(signal)).toBe(1);
  const { folder = '', answer } = ends[0] ?? {};
  expect(answer).toBeUndefined();
  expect(ends[0]?.calls[1]?.arguments).toEqual({ entities });
  expect(existsSync(`${folder}/memory.json`)).toBe(true);
  await episode.close();
  expect(existsSync(folder)).toBe(false);
});

it('plays over HTTP', async () => {
  const url = await listen(async (request, response) => {
    const mcpServer = new McpServer({ name: 'http', version: '1' });
    mcpServer.registerTool('double', { inputSchema: { n: z.number() } }, ({ n }) => ({
      content: [{ type: 'text', text: String(2 * n) }],
    }));
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await mcpServer.connect(transport);
    await transport.handleRequest(request, response);
  });
  const episode = await begin(mcp, { url }, { prompt: 'Double 21.', expected_answer: '42' });
  expect(await episode.step(call('double', { n: 21 }), signal)).toMatchObject({
    observation: '42',
  });
  expect(await episode.step(say('42'), signal)).toMatchObject({ done: true, reward: 1 });
  await expect(episode.step(say('42'), signal)).rejects.toMatchObject({ code: 'ENVIRONMENT_OVER' });
});

it('ends its session at a server over HTTP, also if the server lacks a tool', async () => {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const mcpServer = new McpServer({ name: 'http', version: '1' });
    mcpServer.registerTool('look', {}, () => ({ content: [{ type: 'text', text: '42' }] }));
    await mcpServer.connect(transport as Parameters<McpServer['connect']>[0]);
    return transport;
  };
  const url = await listen(async (request, response) => {
    const known = sessions.get(String(request.headers['mcp-session-id']));
    await (known ?? (await open())).handleRequest(request, response);
  });
  const row = { prompt: 'Look.', expected_answer: '42' };
  const episode = await begin(mcp, { url }, row);
  expect(sessions.size).toBe(1);
  await episode.close();
  expect(sessions.size).toBe(0);
  await expect(begin(mcp, { url, tools: ['nope'] }, row)).rejects.toThrow(/no tool "nope"/);
  expect(sessions.size).toBe(0);
});

it('does not wait for ever for the end of a session', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
  const mcpServer = new McpServer({ name: 'http', version: '1' });
  mcpServer.registerTool('look', {}, () => ({ content: [{ type: 'text', text: '42' }] }));
  await mcpServer.connect(transport as Parameters<McpServer['connect']>[0]);
  const asked = Promise.withResolvers<void>();
  const url = await listen(async (request, response) => {
    if (request.method === 'DELETE') return asked.resolve();
    await transport.handleRequest(request, response);
  });
  const episode = await begin(mcp, { url }, { prompt: 'Look.', expected_answer: '42' });
  const closed = episode.close();
  await asked.promise;
  await vi.advanceTimersByTimeAsync(5000);
  await expect(closed).resolves.toBeUndefined();
});

it('breaks the episode, not the reward, when a server dies, hangs or does not start, or the grader fails', async () => {
  const faulty = (timeout?: number): EnvironmentDefinition =>
    mcpEnvironment({
      name: 'faulty',
      description: 'Breaks.',
      server: () => ({
        command: node,
        args: [fileURLToPath(new URL('faulty-server.mjs', import.meta.url))],
      }),
      reward: ({ row }) => {
        if (row['grade'] === 'throw') throw new Error('no database');
        return Number.NaN;
      },
      timeout,
    });
  const stepOf = async (row: object, action: Action, timeout?: number): Promise<unknown> =>
    (await begin(faulty(timeout), {}, { prompt: 'Break.', ...row }))
      .step(action, signal)
      .catch((error: unknown) => error);
  const n = { n: 1 };
  expect(await stepOf({}, call('die', n))).toMatchObject({
    code: 'ENVIRONMENT_SERVER',
    message: /"die".*out of memory/,
  });
  expect(await stepOf({}, call('hang', n), 0.3)).toMatchObject({
    code: 'ENVIRONMENT_SERVER',
    message: /"hang".*timed out/,
  });
  expect(await stepOf({}, say('done'))).toMatchObject({
    code: 'ENVIRONMENT_NO_VERDICT',
    message: /NaN/,
  });
  expect(await stepOf({ grade: 'throw' }, say('done'))).toMatchObject({ message: /no database/ });
  const row = { prompt: 'x', expected_answer: 'y' };
  const gone = begin(mcp, { command: 'no-such-server' }, row);
  await expect(gone).rejects.toMatchObject({
    code: 'ENVIRONMENT_START_FAILED',
    message: /no-such-server/,
  });
  await expect(gone).rejects.toThrow(ConfigError);
  await expect(begin(mcp, filesystem, { prompt: 'x' })).rejects.toThrow(/expects nothing/);
  expect(mcp.checkArgs({})).toMatchObject([{ message: /command of a server or its url/ }]);
});

it.each([
  [
    'a result that does not match its schema',
    { structuredContent: { n: 'two' } },
    'ENVIRONMENT_SERVER',
  ],
  ['no structured result', {}, 'ENVIRONMENT_SERVER'],
  ['a result that matches', { structuredContent: { n: 2 } }, undefined],
])('takes %s for a fault of the server, not of the policy', async (_, result, code) => {
  const url = await listen(async (request, response) => {
    const server = new Server({ name: 'http', version: '1' }, { capabilities: { tools: {} } });
    const inputSchema = { type: 'object' } as const;
    const outputSchema = { ...inputSchema, properties: { n: { type: 'number' } } };
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: [{ name: 'double', inputSchema, outputSchema }],
    }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
      if (params.arguments === undefined || !('n' in params.arguments))
        throw new McpError(ErrorCode.InvalidParams, 'n is missing');
      return { content: [{ type: 'text', text: 'x' }], ...result };
    });
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await server.connect(transport as Parameters<Server['connect']>[0]);
    await transport.handleRequest(request, response);
  });
  const episode = await begin(mcp, { url }, { prompt: 'Double 1.', expected_answer: '2' });
  expect(await episode.step(call('double'), signal)).toMatchObject({ refused: true });
  const stepped = await Promise.allSettled([episode.step(call('double', { n: 1 }), signal)]);
  expect(stepped).toMatchObject([
    code === undefined ? { value: { refused: false } } : { reason: { code } },
  ]);
});

it.each([
  [
    'variables',
    {
      command: node,
      args: ['-e', 'console.error(process.env.QUOLL_TOKEN)'],
      env: { QUOLL_TOKEN: 'quoll-token-4711' },
    },
  ],
  [
    'headers',
    { url: 'http://127.0.0.1:9/quoll-header-4711', headers: { 'x-q': 'quoll-header-4711' } },
  ],
])('makes the secrets of its %s known, so that errors do not show them', async (_, args) => {
  const begun = begin(mcp, args, { prompt: 'x', expected_answer: 'y' });
  const error = (await begun.catch((thrown: unknown) => thrown)) as Error;
  expect(error.message).toMatch(/quoll-(token|header)-4711/);
  expect(redactText(error.message)).toMatch(/\[redacted\]/);
  expect(redactText(error.message)).not.toMatch(/quoll/);
});

it.each([
  ['url', { url: 'http://127.0.0.1:9', env: { A: 'b' } }],
  ['url', { url: 'http://127.0.0.1:9', args: ['--quiet'] }],
  ['headers', { command: node, headers: { 'x-q': 'y' } }],
])('refuses arguments that have no effect: %s', (place, args) => {
  expect(mcp.checkArgs(args)).toMatchObject([{ path: [place] }]);
});

it('takes a program that is gone for a mistake only before its first start', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'trinity-mcp-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = path.join(folder, 'server');
  symlinkSync(node, program);
  const environment = await mcp.open(
    { ...filesystem, command: program },
    { logger: silentLogger, signal },
  );
  const start = { row: { prompt: 'x', expected_answer: 'y' }, seed: 1 };
  await (await environment.reset(start, signal)).close();
  rmSync(program);
  const gone = environment.reset(start, signal);
  await expect(gone).rejects.toThrow(EnvironmentError);
  await expect(gone).rejects.toThrow('ENOENT');
});

it('names a working folder that does not exist', async () => {
  const away = mcpEnvironment({
    ...{ name: 'away', description: 'Elsewhere.', reward: () => 1 },
    server: () => ({ command: node, cwd: '/no/such/folder' }),
  });
  await expect(begin(away, {}, { prompt: 'x' })).rejects.toThrow(
    'did not start: its working folder /no/such/folder (cwd) does not exist.',
  );
});

it.each([
  [
    'an input schema',
    { inputSchema: { type: 'object', properties: { c: true } } },
    /"bad": inputSchema\.properties\.c: Invalid input\. Correct/,
  ],
  [
    'an output schema',
    { inputSchema: { type: 'object' }, outputSchema: { type: 'object', $ref: '#/nowhere' } },
    /"bad": .*#\/nowhere.*\. Correct/,
  ],
])('names a tool with %s that the SDK rejects, as a mistake', async (_, schemas, message) => {
  const good = { name: 'good', inputSchema: { type: 'object' } };
  const url = await listen(async (request, response) => {
    const server = new Server({ name: 'bad', version: '1' }, { capabilities: { tools: {} } });
    const tools = [good, { name: 'bad', ...schemas }] as never[];
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await server.connect(transport as Parameters<Server['connect']>[0]);
    await transport.handleRequest(request, response);
  });
  const refused = begin(mcp, { url }, { prompt: 'x', expected_answer: 'y' });
  await expect(refused).rejects.toThrow(ConfigError);
  await expect(refused).rejects.toThrow(message);
});

it.skipIf(process.platform === 'win32')('kills its program when the process exits', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'mcp-exit-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'pid');
  // Ends neither with its input nor by SIGTERM.
  const program = `process.on('SIGTERM', () => {});
    setInterval(() => {}, 1000);
    require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.pid));`;
  const script = `
    import { existsSync } from 'node:fs';
    import { connectMcp } from ${JSON.stringify(new URL('../../src/drivers/mcp/connection.ts', import.meta.url).href)};
    const server = { command: process.execPath, args: ['-e', ${JSON.stringify(program)}] };
    const abort = new AbortController();
    connectMcp(server, '.', { ms: 60_000, signal: abort.signal }, true).catch(() => undefined);
    setInterval(() => {
      if (!existsSync(${JSON.stringify(file)})) return;
      abort.abort();
      setImmediate(() => process.exit(0));
    }, 10);`;
  const register = new URL('../../../../tools/register-source.mjs', import.meta.url).href;
  const flags = ['--conditions=@trinity-rft/source', '--import', register, '--input-type=module'];
  spawnSync(node, [...flags, '-e', script], {
    cwd: import.meta.dirname,
    stdio: 'inherit',
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });
  const pid = Number(readFileSync(file, 'utf8'));
  await expect.poll(() => isRunning(pid)).toBe(false);
});

it('has room for another episode where the folder of one cannot be made', async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const args = { command: 'no-such-server', max_servers: 1 };
  const environment = await mcp.open(args, { logger: silentLogger, signal });
  const start = { row: { prompt: 'x', expected_answer: 'y' }, seed: 1 };
  vi.stubEnv('TMPDIR', '/no/such/folder');
  await expect(environment.reset(start, signal)).rejects.toThrow('ENOENT');
  vi.unstubAllEnvs();
  await expect(environment.reset(start, signal)).rejects.toMatchObject({
    code: 'ENVIRONMENT_START_FAILED',
  });
});
