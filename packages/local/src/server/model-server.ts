/**
 * Serves models over OpenAI's and Anthropic's protocols, with health, readiness, metrics, a request
 * log and reloading.
 */
import { randomBytes } from 'node:crypto';
import { describeError, ModelError } from '@trinity-rft/core';
import {
  decodeSegment,
  errorResponse,
  keyCheck,
  openHttpServer,
  parseJson,
  prometheusType,
  readBytes,
  routeLabel,
  stopping,
  whenSent,
  withoutCause,
} from '@trinity-rft/http-server';
import {
  assertServed,
  errorResponseTo,
  modelList,
  modelObject,
  type ModelObject,
} from '@trinity-rft/model';
import { recordCall, type CallRecord } from './call-record.js';
import { createMetrics, type Answered } from './metrics.js';
import { openServedModels, type ServedModels, type ServedModelsOptions } from './served-models.js';

export interface ModelServerOptions extends ServedModelsOptions {
  /** Address to listen on. @default "127.0.0.1" */
  readonly host?: string;
  /** Port; 0 = any free port. @default 0 */
  readonly port?: number;
  /** API key that requests must carry. @default a random key */
  readonly apiKey?: string;
  /**
   * Called with a record of each POST request to a model. The record contains prompts and responses
   * only if {@link logTexts} is set. If the callback throws, the client still gets its response.
   * The error is passed to `onEvent`, but not again until a call has succeeded.
   * @default no callback
   */
  readonly onRequest?: (request: LoggedRequest) => void;
  /** True to include request bodies and responses in the records. @default false */
  readonly logTexts?: boolean;
  /** Maximum time for receiving a whole request, in milliseconds. @default 60_000 */
  readonly requestTimeoutMs?: number;
  /**
   * Interval in ms at which the server looks for better or newer checkpoints of runs; 0 to disable.
   * @default 30_000
   */
  readonly reloadMs?: number;
  /**
   * Handles requests that contain the API key before the server's routes do. If it resolves with
   * undefined, the server's routes handle the request. @default no callback
   */
  readonly answerFirst?: (request: Request, models: ServedModels) => Promise<Response | undefined>;
}

/** Record of one request, as plain data for one line of a log. */
export interface LoggedRequest extends Answered {
  /** Time at which the record was created, in ISO 8601. */
  readonly time: string;
  /** Header `x-request-id` of the request, or else a random id. */
  readonly id: string;
  /** Checkpoint or file of the model that responded; undefined if none did. */
  readonly location?: string | undefined;
  /** Field `user` of the request. */
  readonly user?: string;
  readonly request?: unknown;
  readonly response?: string | undefined;
}

export interface ModelServer {
  /** URL of the server, `http://HOST:PORT`. */
  readonly url: string;
  readonly apiKey: string;
  readonly models: ServedModels;
  /**
   * Closes the server after requests in progress have ended, or after `timeoutMs`. In the meantime,
   * new API requests get 503 and `Retry-After`.
   */
  close(timeoutMs?: number): Promise<void>;
}

/** Status in records of requests whose client disconnected before the response, as in nginx. */
const clientClosed = 499;
const mostBytes = 32 * 1024 * 1024;
const defaultReloadMs = 30_000;
const defaultDrainMs = 30_000;

/**
 * Opens the server. Loads all models before, unless `keep` is set.
 * @throws ConfigError if the port is in use or the key is empty, and the errors of `loadModel`
 */
export async function openModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const { apiKey = randomBytes(24).toString('base64url'), reloadMs = defaultReloadMs } = options;
  const { requestTimeoutMs } = options;
  const hasKey = keyCheck(apiKey);
  const models = await openServedModels(options);
  const metrics = createMetrics(models);
  let isClosing = false;
  const answer = answerer(models, metrics, options);
  const fetch = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (pathname === '/health') return Response.json({ status: 'ok' });
    if (pathname === '/ready') return readiness(isClosing, models);
    try {
      if (!hasKey(request))
        throw new ModelError(
          'The request has no valid key. Expected the key of this server in x-api-key or in Authorization: Bearer.',
          { status: 401, code: 'invalid_api_key' },
        );
      if (pathname === '/metrics')
        return new Response(metrics.text(), { headers: { 'content-type': prometheusType } });
      if (isClosing) return errorResponseTo(request, stopping());
      return (await options.answerFirst?.(request, models)) ?? (await answer(request, pathname));
    } catch (error) {
      return errorResponseTo(
        request,
        withoutCause(error, (fault) =>
          options.onEvent(`${request.method} ${pathname} failed: ${describeError(fault)}`),
        ),
      );
    }
  };
  const server = await openHttpServer({
    fetch,
    refuse: errorResponse,
    host: options.host,
    port: options.port,
    limits: requestTimeoutMs === undefined ? {} : { requestTimeoutMs },
  }).catch(async (error: unknown) => {
    await models.close();
    throw error;
  });
  const timer = reloadMs > 0 ? setInterval(() => void models.reload(), reloadMs) : undefined;
  return {
    url: server.url,
    apiKey,
    models,
    close: async (timeoutMs = defaultDrainMs) => {
      isClosing = true;
      clearInterval(timer);
      const deadline = performance.now() + timeoutMs;
      while (models.inFlight() > 0 && performance.now() < deadline)
        await new Promise((resolve) => setTimeout(resolve, 50));
      await server.close(Promise.resolve());
      await models.close();
    },
  };
}

function readiness(isClosing: boolean, models: ServedModels): Response {
  if (isClosing)
    return Response.json({ status: 'stopping' }, { status: 503, headers: { 'retry-after': '5' } });
  const failed = [...models.failures.keys()];
  // The server is ready even if a reload failed: the old weights still answer, so a proxy need not
  // choose another server.
  return Response.json({
    status: 'ready',
    models: models.names,
    ...(failed.length > 0 && { not_reloaded: failed }),
  });
}

type Metrics = ReturnType<typeof createMetrics>;

function answerer(
  models: ServedModels,
  metrics: Metrics,
  options: ModelServerOptions,
): (request: Request, pathname: string) => Promise<Response> {
  const { logTexts = false } = options;
  const log = requestLog(options);
  return async (request, pathname) => {
    const route = `${request.method} ${routeLabel(pathname)}`;
    if (request.method === 'GET' && /^\/v1\/models\/?$/.test(pathname))
      return Response.json(modelList(models.names.map((name) => entryOf(models, name))));
    const named = /^\/v1\/models\/(.*[^/])\/*$/.exec(pathname)?.[1];
    if (request.method === 'GET' && named !== undefined)
      return Response.json(entryOf(models, decodeSegment(named)));
    assertServed(request);
    if (request.method !== 'POST') return firstFound(request, models);
    const bytes = await readBytes(request, { maxBytes: mostBytes });
    const { value, text } = parseJson(bytes, { expected: 'a request of this API' });
    const body = (typeof value === 'object' && value !== null ? value : {}) as Readonly<
      Record<string, unknown>
    >;
    const name = typeof body['model'] === 'string' ? body['model'] : '';
    const record: CallRecord = { promptTokens: 0, completionTokens: 0, firstTokenMs: undefined };
    const started = performance.now();
    const time = new Date().toISOString();
    const { url, method, headers, signal } = request;
    const finish = (status: number, location?: string, answered?: string): void => {
      const seconds = (performance.now() - started) / 1000;
      const seen: Answered = { model: name.slice(0, 256), route, status, seconds, ...record };
      // Without the names that clients make up, each of which would be another time series.
      metrics.answered(models.names.includes(name) ? seen : { ...seen, model: '' });
      log({
        time,
        id: headers.get('x-request-id')?.slice(0, 128) ?? randomBytes(8).toString('hex'),
        ...seen,
        location,
        ...(typeof body['user'] === 'string' && { user: body['user'].slice(0, 256) }),
        ...(logTexts && { request: value, response: answered }),
      });
    };
    try {
      assertNamed(name, models);
      return await models.use(name, async (model, ended) => {
        const asked = new Request(url, { method, headers, body: text, signal });
        const response = await recordCall(record, () => model.fetch(asked));
        const decoder = new TextDecoder();
        let answered = '';
        const sent = (): void => {
          ended();
          finish(response.status, model.place.location, answered);
        };
        const keep = (chunk: Uint8Array): void =>
          void (answered += decoder.decode(chunk, { stream: true }));
        return whenSent(response, sent, logTexts ? keep : undefined);
      });
    } catch (error) {
      finish(signal.aborted ? clientClosed : errorResponse(error).status);
      throw error;
    }
  };
}

/**
 * Returns a function that calls `onRequest` and reports its errors. It never throws, because an
 * error such as a full disk must not affect the response.
 */
function requestLog({ onRequest, onEvent }: ModelServerOptions): (request: LoggedRequest) => void {
  let hasFailed = false;
  return (request) => {
    try {
      onRequest?.(request);
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) onEvent(`Requests are not logged: ${describeError(error)}`);
      hasFailed = true;
    }
  };
}

/** @throws ModelError 400 if the request names no model, 404 if there is no such model */
function assertNamed(name: string, models: ServedModels): void {
  if (name !== '') return void models.current(name);
  throw new ModelError(`model is missing. The models are ${models.names.join(', ')}.`, {
    status: 400,
    code: 'invalid_request',
    details: { param: 'model' },
  });
}

function entryOf(models: ServedModels, name: string): ModelObject {
  const { run } = models.current(name)?.place ?? {};
  return { ...modelObject(name, 0), ...(run && { step: run.step }) };
}

/**
 * Sends the request to the loaded models one after another, until one does not respond with 404.
 * Only the model that stored a response can return it.
 * @throws ModelError 404 if no model has the response
 */
async function firstFound(request: Request, models: ServedModels): Promise<Response> {
  const { url, method, headers, signal } = request;
  for (const name of models.names) {
    const response = await models.useLoaded(name, (model) =>
      model.fetch(new Request(url, { method, headers, signal })),
    );
    if (response && response.status !== 404) return response;
  }
  const { pathname } = new URL(url);
  throw new ModelError(
    `There is no ${pathname} here. Responses are stored as long as the weights that gave them are in memory, and not with store: false.`,
    { status: 404, code: 'response_not_found' },
  );
}
