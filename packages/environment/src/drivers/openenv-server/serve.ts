/** Serves an environment to everything that speaks OpenEnv: TRL, verifiers, miles, ourselves. */
import { timingSafeEqual, hash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { ConfigError, describeError, type Logger } from '@trinity-rft/core';
import { silentLogger } from '@trinity-rft/core/internal';
import type { WebSocket } from 'ws';
import type { EnvironmentDefinition } from '../../seam/define.js';
import type { Environment } from '../../seam/types.js';
import { createSession, problem, type Reply, type Session } from './episodes.js';
import { answerHttp, type Routes } from './routes.js';
import { createTasks, type Tasks } from './tasks.js';

export interface EnvironmentServerOptions {
  readonly definition: EnvironmentDefinition;
  /** `environment_args`. @default {} */
  readonly args?: Readonly<Record<string, unknown>>;
  /** @default "127.0.0.1" */
  readonly host?: string;
  /** 0 = any free port. @default 0 */
  readonly port?: number;
  /** What clients send as `Authorization: Bearer`. @default none; needed when others can reach the host */
  readonly apiKey?: string;
  /** Connections, each with an episode; a further one is told CAPACITY_REACHED. @default 256 */
  readonly maxConcurrentEnvs?: number;
  /** Tasks of each split, for environments that generate them. @default 1000 */
  readonly tasks?: number;
  /** Of the tasks. @default 0 */
  readonly seed?: number;
  /** How long a reset and a step may take, in milliseconds; the episode has failed then. @default 60_000 */
  readonly timeoutMs?: number;
  /** @default silent */
  readonly logger?: Logger;
}

export interface EnvironmentServer {
  /** For clients: `http://HOST:PORT` */
  readonly url: string;
  /** Ends all episodes. */
  close(): Promise<void>;
}

/** Of a message, in bytes. */
const maxPayload = 16 * 1024 * 1024;
/** Between two pings, in ms; a client that missed one is gone. */
const pingMs = 30_000;
const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

/**
 * Serves an environment by the protocol of OpenEnv until it is closed.
 * @throws ConfigError when the arguments are wrong, the port is taken, or a key is missing;
 * EnvironmentError
 */
export async function serveEnvironment(
  options: EnvironmentServerOptions,
): Promise<EnvironmentServer> {
  const { definition, args = {}, host = '127.0.0.1', port = 0, apiKey } = options;
  const { logger = silentLogger, tasks: count = 1000, seed = 0 } = options;
  if (!loopback.has(host) && apiKey === undefined) throw needsKey(host);
  const stop = new AbortController();
  const { signal } = stop;
  const environment = await definition.open(args, { logger, signal });
  const tasks = createTasks({ definition, args, count, seed });
  try {
    const hasTools = await episodesHaveTools(environment, tasks);
    const routes: Routes = { definition, tasks, hasTools };
    const server = createServer((request, response) => {
      void answer(routes, request, response, isAllowed(apiKey, request));
    });
    const sockets = await acceptSockets(server, { ...options, environment, tasks, signal });
    const actualPort = await listen(server, host, port);
    return {
      url: `http://${host}:${actualPort}`,
      close: async () => {
        stop.abort();
        await sockets.close();
        await closed(server);
        await environment.close();
      },
    };
  } catch (error) {
    await environment.close();
    throw error;
  }
}

const needsKey = (host: string) =>
  new ConfigError(
    `Others can reach ${host}: give a key, which clients then send as Authorization: Bearer, or listen on 127.0.0.1.`,
    { code: 'SERVE_KEY' },
  );

/** Whether the first task's episode has tools; false where tasks come with the reset. */
async function episodesHaveTools(environment: Environment, tasks: Tasks): Promise<boolean> {
  if (tasks.splits.length === 0) return false;
  const { signal } = new AbortController();
  const episode = await environment.reset({ row: tasks.row('train', 0), seed: 0 }, signal);
  await episode.close();
  return (episode.tools?.length ?? 0) > 0;
}

function isAllowed(apiKey: string | undefined, { headers }: IncomingMessage): boolean {
  // Without a key, a page in the user's browser must not reach it.
  if (apiKey === undefined) return headers.origin === undefined;
  const given = /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  return timingSafeEqual(digest(given), digest(apiKey));
}

const digest = (text: string): Buffer => hash('sha256', text, 'buffer');

async function answer(
  routes: Routes,
  request: IncomingMessage,
  response: ServerResponse,
  allowed: boolean,
): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://host');
  const method = request.method ?? 'GET';
  const body = method === 'POST' ? await json(request).catch(() => undefined) : undefined;
  const { status, body: sent } =
    allowed || pathname === '/health'
      ? answerHttp(routes, method, pathname, body)
      : { status: 401, body: { detail: 'Send the key as Authorization: Bearer.' } };
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(sent));
}

interface SocketOptions extends Pick<
  EnvironmentServerOptions,
  'apiKey' | 'maxConcurrentEnvs' | 'timeoutMs'
> {
  readonly environment: Environment;
  readonly tasks: Tasks;
  readonly signal: AbortSignal;
}

async function acceptSockets(
  server: Server,
  options: SocketOptions,
): Promise<{ close(): Promise<void> }> {
  const { apiKey, maxConcurrentEnvs = 256, environment, tasks, signal } = options;
  const patience = { ms: options.timeoutMs ?? 60_000, signal };
  // Every run loads this package, and few serve.
  const { WebSocketServer } = await import('ws');
  const acceptor = new WebSocketServer({ noServer: true, maxPayload });
  const sessions = new Map<WebSocket, Promise<void>>();
  server.on('upgrade', (request, socket, head) => {
    const { pathname } = new URL(request.url ?? '/', 'http://host');
    const status =
      pathname !== '/ws' ? '404 Not Found' : isAllowed(apiKey, request) ? '' : '401 Unauthorized';
    if (status !== '') socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
    else acceptor.handleUpgrade(request, socket, head, accept);
  });
  const stopPings = pingAll(sessions);

  function accept(socket: WebSocket): void {
    if (sessions.size >= maxConcurrentEnvs) return refuse(socket, sessions.size, maxConcurrentEnvs);
    const session = createSession(environment, tasks, patience);
    sessions.set(socket, Promise.resolve());
    socket.on('message', (data: Buffer) => {
      const before = sessions.get(socket) ?? Promise.resolve();
      sessions.set(
        socket,
        before.then(() => handle(session, socket, data.toString())),
      );
    });
    socket.on('error', () => socket.terminate());
    socket.once('close', () => {
      const before = sessions.get(socket) ?? Promise.resolve();
      void before.then(() => session.close()).finally(() => sessions.delete(socket));
    });
  }

  return {
    close: async () => {
      stopPings();
      const working = [...sessions.values()];
      for (const socket of sessions.keys()) socket.terminate();
      await Promise.all(working);
    },
  };
}

function refuse(socket: WebSocket, active: number, most: number): void {
  const sessions = { active_sessions: active, max_sessions: most };
  const reply = problem(
    'CAPACITY_REACHED',
    `Server at capacity: ${active}/${most} sessions active`,
    sessions,
  );
  socket.send(JSON.stringify(reply), () => socket.close());
}

/** Clients that vanished without a word would keep their places. */
function pingAll(sockets: ReadonlyMap<WebSocket, unknown>): () => void {
  const silent = new WeakSet<WebSocket>();
  const timer = setInterval(() => {
    for (const socket of sockets.keys()) {
      if (silent.has(socket)) socket.terminate();
      silent.add(socket);
      socket.once('pong', () => silent.delete(socket));
      socket.ping();
    }
  }, pingMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Never rejects. */
async function handle(session: Session, socket: WebSocket, text: string): Promise<void> {
  const reply = await replyTo(session, text);
  if (reply === undefined) socket.close();
  else if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(reply));
}

/** Undefined for "close". */
async function replyTo(session: Session, text: string): Promise<Reply | undefined> {
  try {
    const message = parse(text);
    if (message === undefined) return problem('INVALID_JSON', 'Invalid JSON: send {"type": ...}');
    const { type, data } = message;
    if (type === 'reset') return await session.reset(data);
    if (type === 'step') return await session.step(data);
    if (type === 'state') return session.state();
    if (type === 'close') return undefined;
    return problem('UNKNOWN_TYPE', `Unknown message type: ${String(type)}`);
  } catch (error) {
    return problem('EXECUTION_ERROR', describeError(error));
  }
}

function parse(text: string): { readonly type?: unknown; readonly data?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(port, host, resolve);
  try {
    await promise;
  } catch (cause) {
    throw new ConfigError(
      `${host}:${port} is not available (${describeError(cause)}). Choose another port.`,
      { code: 'SERVE_PORT', cause },
    );
  }
  return (server.address() as AddressInfo).port;
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
