/**
 * The server of a running product as one web-standard function: the model's endpoint, feedback,
 * commits and numbers.
 */
import { ModelError, type Clock, type Logger } from '@trinity-rft/core';
import type { Commit } from './commit.js';
import { readFeedback } from './feedback-request.js';
import { errorResponse, readJson } from './json-body.js';
import { sessionOf } from './session-of.js';
import { createSessions, type Handler, type SessionLimits } from './sessions.js';
import type { ServedCall, TurnStore } from './turns/turn-store.js';

export interface ServeOptions {
  readonly turns: TurnStore;
  /**
   * `onCall` is to be told of every finished call, and to resolve before its client sees the
   * answer; what it throws fails the call.
   */
  readonly createHandler: (
    session: string,
    onCall: (call: Omit<ServedCall, 'session'>) => Promise<void>,
  ) => Handler;
  readonly commit: Commit;
  /** Of the weights that the next call is sampled from. */
  readonly policyVersion: () => number;
  /** More numbers for `/metrics`. */
  readonly numbers?: () => Promise<Readonly<Record<string, number>>>;
  readonly limits?: SessionLimits;
  /** Bodies that are announced to be larger name no session. @default 20_000_000 */
  readonly maxBodyBytes?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Serve {
  /**
   * `POST /feedback`, `POST /commit` and `GET /metrics`; everything else goes to the model of the
   * request's session. Never rejects. Checks no key.
   */
  readonly handler: Handler;
  /**
   * From now on requests are answered with 503 and `Retry-After`; resolves when none is in
   * progress, or after `timeoutMs`.
   */
  drain(timeoutMs: number): Promise<void>;
}

/** Seconds after which a restarted server may be there again. */
const retryAfter = 5;

export function createServe(options: ServeOptions): Serve {
  const { turns, clock, logger, maxBodyBytes = 20_000_000 } = options;
  let requests = 0;
  let inFlight = 0;
  let idle: (() => void) | undefined;
  let closing = false;

  const sessions = createSessions(
    (session) =>
      options.createHandler(session, async (call) => {
        await turns.record({ ...call, session });
        sessions.grow(
          session,
          call.experiences.reduce((sum, { tokens }) => sum + tokens.length, 0),
        );
      }),
    options.limits,
  );

  const routes: Readonly<Record<string, (request: Request) => Promise<Response>>> = {
    'POST /feedback': async (request) => {
      const { applied, already } = await turns.reward(readFeedback(await readJson(request)));
      return Response.json({ status: 'success', applied, already });
    },
    'POST /commit': async () => {
      const { step, calls, experiences } = await options.commit();
      return Response.json({ status: 'success', explore_step_num: step, calls, experiences });
    },
    'GET /metrics': async () => Response.json(await metrics()),
  };

  const metrics = async (): Promise<Readonly<Record<string, number>>> => {
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
      'rollout/sessions': sessions.size,
      'rollout/model_0/total_request_count': requests,
      'rollout/model_0/model_version': options.policyVersion(),
      ...(await options.numbers?.()),
    };
  };

  const ask = async (request: Request): Promise<Response> => {
    requests++;
    const session = await sessionOf(request, {
      sessionOf: (id) => turns.sessionOf(id),
      maxBodyBytes,
    });
    return sessions.handler(session)(request);
  };

  return {
    handler: async (request) => {
      if (closing) return errorResponse(stopping());
      inFlight++;
      try {
        const route =
          routes[`${request.method} ${new URL(request.url).pathname.replace(/\/+$/, '')}`];
        return await (route ?? ask)(request);
      } catch (error) {
        const response = errorResponse(error);
        if (response.status >= 500) logger.error(`A request failed: ${String(error)}`);
        return response;
      } finally {
        if (--inFlight === 0) idle?.();
      }
    },
    drain: async (timeoutMs) => {
      closing = true;
      if (inFlight === 0) return;
      const timer = new AbortController();
      const done = new Promise<void>((resolve) => (idle = resolve));
      const late = clock.sleep(timeoutMs, timer.signal).then(
        () =>
          logger.warn(
            `${inFlight} requests were not answered within ${timeoutMs / 1000} s; the server does not wait for them.`,
          ),
        () => undefined,
      );
      await Promise.race([done, late]);
      timer.abort();
    },
  };
}

function stopping(): ModelError {
  return new ModelError('The server is stopping. Repeat the request when it is back.', {
    status: 503,
    code: 'stopping',
    retryable: true,
    details: { retryAfter },
  });
}
