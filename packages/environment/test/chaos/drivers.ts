/** The letters environment behind each driver, with a proxy in between. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import type { McpServer as Server } from '../../src/drivers/mcp/server.js';
import { mcpEnvironment, type McpStart } from '../../src/drivers/mcp/mcp-environment.js';
import { openenv } from '../../src/drivers/openenv/openenv.js';
import { serveEnvironment } from '../../src/drivers/openenv-server/serve.js';
import { pythonArgs } from '../../src/drivers/python/args.js';
import { openBridged } from '../../src/drivers/python/python.js';
import {
  defineEnvironment,
  type EnvironmentContext,
  type EnvironmentDefinition,
} from '../../src/seam/define.js';
import type { Environment, Episode } from '../../src/seam/types.js';
import type { ChaosOptions } from './faults.js';
import { httpProxy } from './http-proxy.js';
import { episodeLength, Letters, letters } from './letters.js';
import { chaoticEnvironment } from './native-chaos.js';
import { listening } from './proxy.js';
import { socketProxy } from './socket-proxy.js';
import { stdioProxy, type Program } from './stdio-proxy.js';

export interface Driver {
  readonly definition: EnvironmentDefinition;
  /** Stops servers and proxies. */
  close(): Promise<void>;
}

export interface DriverOptions extends ChaosOptions {
  /** Deadline of each answer, in ms. */
  readonly deadlineMs: number;
  /** Deadline for the start of a process or connection, in ms. */
  readonly startMs: number;
}

/** Functions that open a driver, by name. */
export const drivers: Readonly<Record<string, (options: DriverOptions) => Promise<Driver>>> = {
  native: async (chaos) => ({
    definition: define('native', async (context) =>
      chaoticEnvironment(await letters.open({}, context), chaos),
    ),
    close: async () => undefined,
  }),
  openenv: openenvDriver,
  python: pythonDriver,
  mcp_stdio: mcpStdioDriver,
  mcp_http: mcpHttpDriver,
};

const define = (
  driver: string,
  open: (context: EnvironmentContext) => Promise<Environment>,
): EnvironmentDefinition =>
  defineEnvironment({
    name: `letters_${driver}`,
    description: letters.description,
    open: (_, context) => open(context),
    tasks: (range) => letters.tasks?.(range, {}) ?? [],
  });

async function openenvDriver(options: DriverOptions): Promise<Driver> {
  const server = await serveEnvironment({ definition: letters });
  const proxy = await socketProxy(server.url, options);
  const limits = { timeout: options.deadlineMs / 1000, start_timeout: options.startMs / 1000 };
  const args = { url: proxy.url, ...limits, max_connections: 64 };
  return {
    definition: define('openenv', async (context) => {
      const environment = await openenv.open(args, context);
      return {
        ...environment,
        reset: ({ row, seed }, signal) =>
          environment.reset({ row: { reset: { task: row } }, seed }, signal),
      };
    }),
    close: async () => {
      await proxy.close();
      await server.close();
    },
  };
}

async function pythonDriver(options: DriverOptions): Promise<Driver> {
  const proxy = await stdioProxy(() => inProcess(answerAsPython), options);
  const start_timeout = options.startMs / 1000;
  const limits = { timeout: options.deadlineMs / 1000, start_timeout, processes: 16 };
  const args = pythonArgs.parse({ kind: 'letters:Letters', ...limits });
  return {
    definition: define('python', ({ signal }) => openBridged(args, proxy, signal)),
    close: () => proxy.close(),
  };
}

interface Params {
  readonly episode: string;
  readonly task: Readonly<Record<string, number>>;
  readonly action: string;
}

/** Answers as python/bridge.py does, with the letters environment. */
function answerAsPython(input: Readable, output: Writable): void {
  const worlds = new Map<string, Letters>();
  const results: Readonly<Record<string, (params: Params) => unknown>> = {
    make: () => ({}),
    reset: ({ episode, task }) => {
      const world = new Letters(task['seed'] ?? 0);
      worlds.set(episode, world);
      return { observation: world.observation };
    },
    step: ({ episode, action }) => worlds.get(episode)?.say(action),
    close: ({ episode }) => worlds.delete(episode),
  };
  createInterface({ input }).on('line', (line) => {
    try {
      const { id, method, params } = JSON.parse(line) as {
        id: number;
        method: string;
        params: Params;
      };
      output.write(`${JSON.stringify({ id, result: results[method]?.(params) })}\n`);
    } catch {
      output.destroy();
    }
  });
}

function inProcess(serve: (input: Readable, output: Writable) => void): Program {
  const [input, output] = [new PassThrough(), new PassThrough()];
  serve(input, output);
  return { input, output, end: () => output.destroy() };
}

async function mcpStdioDriver(options: DriverOptions): Promise<Driver> {
  const proxy = await stdioProxy(
    ([seed]) =>
      inProcess((input, output) => {
        void lettersServer(Number(seed)).connect(new StdioServerTransport(input, output));
      }),
    options,
  );
  const { command, args } = proxy;
  const server = ({ row }: McpStart): Server => ({ command, args: [...args, String(row['seed'])] });
  return { definition: mcpDefinition('mcp_stdio', options, server), close: () => proxy.close() };
}

async function mcpHttpDriver(options: DriverOptions): Promise<Driver> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const server = await listening(
    createServer((request, response) => {
      void answerMcp(sessions, request, response).catch(() => response.destroy());
    }),
  );
  const proxy = await httpProxy(server.url, options);
  const address = ({ row }: McpStart): Server => ({
    url: `${proxy.url}/mcp?seed=${String(row['seed'])}`,
  });
  return {
    definition: mcpDefinition('mcp_http', options, address),
    close: async () => {
      await proxy.close();
      await server.close();
    },
  };
}

async function answerMcp(
  sessions: Map<string, StreamableHTTPServerTransport>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method === 'GET') return void response.writeHead(405).end();
  const known = sessions.get(String(request.headers['mcp-session-id']));
  if (known) return known.handleRequest(request, response);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    enableJsonResponse: true,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  const seed = Number(new URL(request.url ?? '', 'http://localhost').searchParams.get('seed'));
  await lettersServer(seed).connect(transport);
  return transport.handleRequest(request, response);
}

function lettersServer(seed: number): McpServer {
  const world = new Letters(seed);
  const server = new McpServer({ name: 'letters', version: '1' });
  server.registerTool('say', { inputSchema: { letter: z.string() } }, ({ letter }) => ({
    content: [{ type: 'text', text: world.say(letter).observation }],
  }));
  return server;
}

const firstState = ({ row }: McpStart): string => new Letters(Number(row['seed'])).observation;

/** MCP environment whose reward is read from the last state that the server reported. */
function mcpDefinition(
  name: string,
  { deadlineMs, startMs }: DriverOptions,
  server: (start: McpStart) => Server,
): EnvironmentDefinition {
  const tools = mcpEnvironment({
    name: 'letters',
    description: letters.description,
    server,
    prompt: firstState,
    reward: (end) => (Number(end.calls.at(-1)?.result ?? firstState(end)) + end.calls.length) / 20,
    startTimeout: startMs / 1000,
    timeout: deadlineMs / 1000,
    maxServers: 64,
  });
  return define(name, async (context) => {
    const environment = await tools.open({}, context);
    return {
      ...environment,
      reset: async (start, signal) => spoken(await environment.reset(start, signal)),
    };
  });
}

/** Wraps an episode so that written letters become tool calls; after the last letter, the policy is done. */
function spoken(episode: Episode): Episode {
  let said = 0;
  return {
    ...episode,
    tools: undefined,
    step: async (action, signal) => {
      const letter = action.type === 'text' ? action.text : '';
      const call = { type: 'tool', name: 'say', arguments: { letter } } as const;
      const result = await episode.step(call, signal);
      said++;
      return said < episodeLength ? result : episode.step({ type: 'text', text: 'done' }, signal);
    },
  };
}
