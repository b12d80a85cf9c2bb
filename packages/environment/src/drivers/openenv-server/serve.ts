/**
 * Serves an environment to OpenEnv clients, such as TRL, verifiers, miles and Trinity-RFT.
 */
import {
  ConfigError,
  describeError,
  ModelError,
  type Logger,
  silentLogger,
  systemClock,
} from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';
import {
  keyCheck,
  openHttpServer,
  type HttpServer,
  readJson,
  type HttpLimits,
  type Upgrade,
} from '@trinity-rft/http-server';
import type { WebSocket } from 'ws';
import type { EnvironmentDefinition } from '../../seam/define.js';
import type { Environment } from '../../seam/types.js';
import { beginEpisode, type GuardOptions } from '../../play/guarded-episode.js';
import { createSession, problem, type Reply, type Session } from './episodes.js';
import { answerHttp, type Routes } from './routes.js';
import { createTasks, type Tasks } from './tasks.js';

export interface EnvironmentServerOptions {
  readonly definition: EnvironmentDefinition;
  /** Arguments of the environment, as in `environment_args`. @default {} */
  readonly args?: Readonly<Record<string, unknown>>;
  /** Address to listen on. @default "127.0.0.1" */
  readonly host?: string;
  /**
   * Port to listen on. With 0, any free port is used.
   * @default 0
   */
  readonly port?: number;
  /**
   * Key that clients send as `Authorization: Bearer`. Required unless `host` is a loopback address.
   * @default no key
   */
  readonly apiKey?: string;
  /**
   * Maximum number of connections, each with an episode. Further connections receive the error
   * CAPACITY_REACHED.
   * @default 256
   */
  readonly maxConcurrentEnvs?: number;
  /**
   * Maximum number of tasks for training, for environments that generate tasks; there are at most a
   * tenth as many for evaluations. A split has fewer if there are fewer different tasks.
   * @default 1000
   */
  readonly tasks?: number;
  /** Seed for task generation. @default 0 */
  readonly seed?: number;
  /**
   * Timeout of a reset or step in milliseconds, after which the episode fails.
   * @default 300_000 for a reset, as in a run; 60_000 for a step
   */
  readonly timeoutMs?: number;
  /**
   * Name of the setting that sets the timeout, used in error messages. @default "timeoutMs of the
   * server"
   */
  readonly limitName?: string;
  readonly limits?: Partial<HttpLimits>;
  /** Logger of the server. @default no log */
  readonly logger?: Logger;
}

export interface EnvironmentServer {
  /** URL for clients, such as `http://HOST:PORT`. */
  readonly url: string;
  /** Ends all episodes and stops the server. */
  close(): Promise<void>;
}

/** Maximum size of a message, and of all queued messages of a connection, in bytes. */
const maxPayload = 16 * 1024 * 1024;
/**
 * Maximum number of queued messages of a connection. Clients normally send one message at a time.
 */
const maxWaiting = 64;
/** Maximum size of an HTTP request, in bytes. */
const maxBody = 1 << 20;
/**
 * Time between two pings, in ms. A client that has not answered by the next ping is disconnected.
 */
const pingMs = 30_000;
const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

/**
 * Serves an environment over the OpenEnv protocol until the server is closed.
 * @throws ConfigError if the arguments are invalid, the port is in use, or a key is missing or
 * empty, and EnvironmentError if the environment cannot be opened
 */
export async function serveEnvironment(
  options: EnvironmentServerOptions,
): Promise<EnvironmentServer> {
  const { definition, args = {}, host = '127.0.0.1', port, apiKey, limits } = options;
  const { logger = silentLogger, tasks: count = 1000, seed = 0 } = options;
  const { timeoutMs = 60_000, timeoutMs: startTimeoutMs = 300_000 } = options;
  if (!loopback.has(host) && apiKey === undefined) throw needsKey(host);
  const isAllowed = apiKey === undefined ? () => true : keyCheck(apiKey);
  const stop = new AbortController();
  const { signal } = stop;
  const tasks = createTasks({ definition, args, count, seed, logger });
  const environment = await definition.open(args, { logger, signal });
  const guard = {
    ...{ name: definition.name, timeoutMs, startTimeoutMs, clock: systemClock, logger, signal },
    limitName: options.limitName ?? 'timeoutMs of the server',
  };
  const sockets = await acceptSockets({ ...options, environment, tasks, guard });
  const close = async (server?: HttpServer): Promise<void> => {
    stop.abort();
    const ended = sockets.close();
    await server?.close(ended);
    await ended;
    await environment.close();
  };
  try {
    const mayHaveTools = await episodesMayHaveTools(environment, tasks, guard);
    const routes: Routes = { definition, tasks, mayHaveTools };
    const server = await openHttpServer({
      fetch: (request) => answer(routes, request, isAllowed(request)),
      refuse,
      host,
      port,
      limits,
      // Without a key, a page in the user's browser must not reach the server.
      loopbackOnly: apiKey === undefined,
      upgrade: (request) => {
        if (new URL(request.url).pathname !== '/ws') return 404;
        return isAllowed(request) ? sockets.accept : 401;
      },
    });
    return { url: server.url, close: () => close(server) };
  } catch (error) {
    await close();
    throw error;
  }
}

const needsKey = (host: string) =>
  new ConfigError(
    `Others can reach ${host}: give a key, which clients then send as Authorization: Bearer, or listen on 127.0.0.1.`,
    { code: 'SERVE_KEY' },
  );

/**
 * Returns true if the episode of the first task has tools. Also returns true if the environment
 * generates no tasks, because its episodes are then unknown.
 */
async function episodesMayHaveTools(
  environment: Environment,
  tasks: Tasks,
  guard: GuardOptions,
): Promise<boolean> {
  if (tasks.splits.length === 0) return true;
  const start = { row: tasks.row('train', 0), seed: 0 };
  const episode = await beginEpisode(environment, start, guard);
  await episode.close();
  return (episode.tools?.length ?? 0) > 0;
}

async function answer(routes: Routes, request: Request, allowed: boolean): Promise<Response> {
  try {
    const { pathname } = new URL(request.url);
    if (!allowed && pathname !== '/health')
      return Response.json({ detail: 'Send the key as Authorization: Bearer.' }, { status: 401 });
    const body =
      request.method === 'POST' ? await readJson(request, { maxBytes: maxBody }) : undefined;
    const { status, body: sent } = answerHttp(routes, request.method, pathname, body);
    return Response.json(sent, { status });
  } catch (error) {
    return refuse(error);
  }
}

const refuse = (error: unknown): Response =>
  Response.json(
    { detail: describeError(error) },
    { status: error instanceof ModelError ? error.status : 500 },
  );

interface SocketOptions extends Pick<EnvironmentServerOptions, 'maxConcurrentEnvs'> {
  readonly environment: Environment;
  readonly tasks: Tasks;
  readonly guard: GuardOptions;
}

interface Sockets {
  readonly accept: Upgrade;
  close(): Promise<void>;
}

/** Queue of messages that were received over a connection and not yet handled. */
interface Waiting {
  last: Promise<void>;
  messages: number;
  bytes: number;
  /** Promise that resolves when the connection and its episode are closed. */
  readonly ended: Promise<void>;
}

async function acceptSockets(options: SocketOptions): Promise<Sockets> {
  const { maxConcurrentEnvs = 256, environment, tasks, guard } = options;
  // Loaded on first use, because every training run loads this package, but few serve an
  // environment.
  const { WebSocketServer } = await import('ws');
  const acceptor = new WebSocketServer({ noServer: true, maxPayload });
  const sessions = new Map<WebSocket, Waiting>();
  const stopPings = pingAll(sessions);

  function accept(socket: WebSocket): void {
    socket.on('error', () => socket.terminate());
    if (sessions.size >= maxConcurrentEnvs)
      return refuseSession(socket, sessions.size, maxConcurrentEnvs);
    const session = createSession(environment, tasks, guard);
    const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      .then(() => waiting.last)
      .then(() => session.close())
      .finally(() => sessions.delete(socket));
    const waiting: Waiting = { last: Promise.resolve(), messages: 0, bytes: 0, ended };
    sessions.set(socket, waiting);
    socket.on('message', (data: Buffer) => {
      waiting.messages++;
      waiting.bytes += data.length;
      if (waiting.messages > maxWaiting || waiting.bytes > maxPayload) return socket.terminate();
      waiting.last = waiting.last.then(async () => {
        if (socket.readyState === socket.OPEN) await handle(session, socket, data.toString());
        waiting.messages--;
        waiting.bytes -= data.length;
      });
    });
  }

  return {
    accept: (incoming, socket, head) => acceptor.handleUpgrade(incoming, socket, head, accept),
    close: async () => {
      stopPings();
      const ends = [...sessions.values()].map(({ ended }) => ended);
      for (const socket of sessions.keys()) socket.terminate();
      await Promise.all(ends);
    },
  };
}

function refuseSession(socket: WebSocket, active: number, most: number): void {
  const sessions = { active_sessions: active, max_sessions: most };
  const reply = problem(
    'CAPACITY_REACHED',
    `Server at capacity: ${active}/${most} sessions active`,
    sessions,
  );
  socket.send(JSON.stringify(reply), () => socket.close());
}

/**
 * Sends pings to all clients and disconnects those that do not answer, because they count towards
 * the connection limit.
 * @returns a function that stops the pings
 */
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

/** Replies to a client's message. Does not reject. */
async function handle(session: Session, socket: WebSocket, text: string): Promise<void> {
  const reply = await replyTo(session, text);
  if (reply === undefined) socket.close();
  else if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(reply));
}

/** Returns the reply to a message, or undefined for the message "close". */
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
  const value = tryJson(text);
  return typeof value === 'object' && value !== null ? value : undefined;
}
