/**
 * A product's server as one function from Request to Response: model endpoint, feedback, commits
 * and metrics.
 */
import { describeError, ModelError, type Clock, type Logger } from '@trinity-rft/core';
import {
  errorResponse,
  prometheusType,
  readJson,
  whenSent,
  withoutCause,
} from '@trinity-rft/http-server';
import type { Commit } from './commit.js';
import { feedbackBody, readFeedback } from './feedback-request.js';
import { trackInFlightRequests } from './in-flight-requests.js';
import { createRequestMetrics } from './request-metrics.js';
import { sessionOf } from './request-session.js';
import {
  createSessions,
  type Handler,
  type ParsedBody,
  type SessionLimits,
  type SessionModel,
} from './sessions.js';
import type { ServedCall, TurnStore } from './turns/turn-store.js';

export interface ServeOptions {
  readonly turns: TurnStore;
  /**
   * Creates the model of one session. Its handler must call `onCall` for every finished call, and
   * await it before the client gets the end of the response. If `onCall` rejects, the call fails.
   */
  readonly createModel: (
    session: string,
    onCall: (call: Omit<ServedCall, 'session'>) => Promise<void>,
  ) => SessionModel;
  readonly commit: Commit;
  /** Returns the version of the weights with which the next call will be sampled. */
  readonly policyVersion: () => number;
  /** Returns additional values for `GET /metrics`, keyed by name. @default no additional values */
  readonly extraMetrics?: () => Promise<Readonly<Record<string, number>>>;
  readonly limits?: SessionLimits;
  /**
   * Reads the body of a POST request to the model. It is read once, and used both to determine the
   * session and to handle the request.
   * @throws ModelError 4xx for an invalid body, or a path that the model does not serve
   */
  readonly readBody: (request: Request) => Promise<ParsedBody>;
  /**
   * Converts an error that a request to the model caused to a response in the format of the model's
   * API.
   * @default the error format of feedback and commits
   */
  readonly modelErrorResponse?: (request: Request, error: unknown) => Response;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Serve {
  /**
   * Handles `POST /feedback`, `POST /commit` and `GET /metrics`. Passes all other requests to the
   * model handler of their session. Never rejects. Does not check keys.
   */
  readonly handler: Handler;
  /**
   * Stops accepting requests: new requests get 503 with `Retry-After`. Resolves when no request is
   * in flight, or after `timeoutMs`.
   */
  drain(timeoutMs: number): Promise<void>;
}

/** Creates a product's server, which handles model requests and feedback. Does not open a port. */
export function createServe(options: ServeOptions): Serve {
  const { turns, logger, modelErrorResponse = (_, error) => errorResponse(error) } = options;
  const inFlight = trackInFlightRequests(options.clock, logger);
  // Each finished call is recorded before the client gets the end of the response.
  const sessions = createSessions(
    (session) => options.createModel(session, (call) => turns.record({ ...call, session })),
    options.limits,
  );
  const requests = createRequestMetrics(() => options.clock.now());
  const onFault = (error: unknown): void =>
    logger.error(`A request failed: ${describeError(error)}`);
  let modelRequests = 0;

  const routes: Readonly<Record<string, Handler>> = {
    'POST /feedback': async (request) => {
      const { applied, already } = await turns.reward(
        readFeedback(await readJson(request, feedbackBody)),
      );
      return Response.json({ status: 'success', applied, already });
    },
    'POST /commit': async () => {
      const { step, calls, experiences } = await options.commit();
      return Response.json({ status: 'success', explore_step_num: step, calls, experiences });
    },
    'GET /metrics': async ({ headers }) => {
      const metrics = await serveMetrics(options, sessions.size, modelRequests);
      if (!headers.get('accept')?.includes('text/plain')) return Response.json(metrics);
      return new Response(requests.text(metrics), { headers: { 'content-type': prometheusType } });
    },
  };
  const askModel = async (request: Request, path: string, onEnd: (end: () => void) => void) => {
    assertModelRequest(request.method, path, Object.keys(routes));
    const body = request.method === 'POST' ? await options.readBody(request) : undefined;
    if (body) modelRequests++;
    const session = await sessionOf(request, {
      sessionOfCall: (msgId) => turns.sessionOf(msgId),
      body: body?.value,
    });
    const { handler: ask, end } = sessions.begin(session);
    onEnd(end);
    return ask(request, body);
  };

  const handler: Handler = async (request) => {
    const { pathname } = new URL(request.url);
    const end = requests.begin(pathname);
    const path = pathname.replace(/(?<!\/)\/+$/, '');
    const route = routes[`${request.method} ${path}`];
    const failed = (error: unknown): Response => {
      const response = route ? errorResponse(error) : modelErrorResponse(request, error);
      end(response.status);
      return response;
    };
    try {
      inFlight.start();
    } catch (error) {
      return failed(error);
    }
    let endCall = (): void => undefined;
    try {
      const response = await (route?.(request) ??
        askModel(request, path, (last) => (endCall = last)));
      const ended = (): void => {
        end(response.status);
        endCall();
        inFlight.finish();
      };
      if (response.headers.get('transfer-encoding') === 'chunked') return whenSent(response, ended);
      ended();
      return response;
    } catch (error) {
      endCall();
      inFlight.finish();
      return failed(withoutCause(error, onFault));
    }
  };
  return { handler, drain: (timeoutMs) => inFlight.drain(timeoutMs) };
}

/**
 * Checks that a request does not ask for a route of the server with another method, or below the
 * base URL of an OpenAI client.
 * @param path path of the request, without slashes at its end
 * @param routes methods and paths of the server
 * @throws ModelError 405 or 404 naming the route
 */
function assertModelRequest(method: string, path: string, routes: readonly string[]): void {
  const meant = routes.find((route) => route.endsWith(` ${path.replace(/^\/v1(?=\/)/, '')}`));
  if (meant === undefined) return;
  const [allow = '', own] = meant.split(' ');
  const isMethod = own === path;
  throw new ModelError(`${method} ${path} is not served. Expected ${meant}.`, {
    status: isMethod ? 405 : 404,
    code: isMethod ? 'method_not_allowed' : 'not_found',
    details: isMethod ? { allow } : {},
  });
}

async function serveMetrics(
  { turns, policyVersion, extraMetrics }: ServeOptions,
  sessions: number,
  modelRequests: number,
): Promise<Readonly<Record<string, number>>> {
  const [{ total, open, ready, committed }, lastStep] = await Promise.all([
    turns.counts(),
    turns.lastStep(),
  ]);
  return {
    explore_step_num: lastStep,
    'rollout/total_experience_count': total,
    'rollout/ready_experience_count': ready + committed,
    'rollout/open_experience_count': open,
    'rollout/uncommitted_experience_count': ready,
    'rollout/sessions': sessions,
    'rollout/model_0/total_request_count': modelRequests,
    'rollout/model_0/model_version': policyVersion(),
    ...(await extraMetrics?.()),
  };
}
