/**
 * Dispatches each request to the handler of its rollout. Requests arrive over a socket or from
 * within the process.
 */
import type { ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { errorResponseTo } from '../protocols/error-response-to.js';
import { isWhole, toResponse, type WholeAnswer } from '../protocols/shared/answer/answer.js';
import { digestOf, keysOf } from './keys.js';
import type { Refusals } from './refusals.js';
import type { RewardRoute } from './rewards.js';
import { unauthorized, type OpenRollout, type RolloutTable } from './rollout-table.js';
import type { Traffic } from './traffic.js';

export type EndpointApp = Hono<{ Bindings: HttpBindings }>;

export interface AppOptions {
  readonly adminKey: string;
  readonly refusals: Refusals;
  readonly rewards?: RewardRoute | undefined;
  /**
   * If set, `GET /ready` is available. The function returns the reason why the server currently
   * accepts no calls, or undefined if it accepts calls.
   */
  readonly unready?: (() => string | undefined) | undefined;
}

/**
 * Creates the request listener of a server. `GET /health` and `GET /ready` need no key. `GET
 * /metrics` with the admin key returns the server's metrics. All other requests go to a rollout.
 */
export function createApp(
  table: RolloutTable,
  traffic: Traffic,
  { adminKey, refusals, rewards, unready }: AppOptions,
): EndpointApp {
  const adminDigest = digestOf(adminKey);
  const app: EndpointApp = new Hono();
  app.get('/health', () => Response.json({ status: 'ok' }));
  if (unready)
    app.get('/ready', () => {
      const reason = unready();
      if (reason === undefined) return Response.json({ status: 'ready' });
      return Response.json({ status: 'not ready', reason }, { status: 503 });
    });
  app.get('/metrics', ({ req, env }) => {
    const [key] = keysOf(req.raw);
    if (key !== undefined && table.ownsMetrics(key))
      return dispatch(req.raw, table, traffic, env.outgoing as ServerResponse);
    if (key !== undefined && digestOf(key) === adminDigest)
      return Response.json({ open_rollouts: table.size, ...traffic.report() });
    return reject(req.raw, unauthorized(refusals.metricsKey), traffic);
  });
  app.use(async ({ req }, next) => {
    const response = await rewards?.answer(req.raw);
    if (!response) return next();
    traffic.answered(response.status);
    return response;
  });
  app.all('*', ({ req, env }) => dispatch(req.raw, table, traffic, env.outgoing as ServerResponse));
  return app;
}

/**
 * Checks the key of a request, then calls the handler of the key's rollout. The call counts as in
 * flight until its whole response has been sent.
 */
export async function dispatch(
  request: Request,
  table: RolloutTable,
  traffic: Traffic,
  outgoing?: ServerResponse,
): Promise<Response> {
  let open: OpenRollout;
  try {
    open = table.find(request);
  } catch (error) {
    return reject(request, error, traffic);
  }
  const end = traffic.begin(open.rollout);
  outgoing?.once('close', end);
  try {
    const answer = await open.handler(request);
    traffic.answered(answer.status);
    return outgoing && isWhole(answer) ? write(answer, outgoing) : toResponse(answer);
  } finally {
    if (!outgoing) end();
  }
}

/**
 * Sends a complete response in one write. The HTTP adapter would send a `Response` in several
 * pieces.
 */
function write(answer: WholeAnswer, outgoing: ServerResponse): Response {
  if (outgoing.destroyed) answer.lost();
  else {
    answer.delivered();
    outgoing.writeHead(answer.status, answer.headers).end(answer.text);
  }
  return RESPONSE_ALREADY_SENT;
}

function reject(request: Request, error: unknown, traffic: Traffic): Response {
  const response = errorResponseTo(request, error);
  traffic.answered(response.status);
  return response;
}
