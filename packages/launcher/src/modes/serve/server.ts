/** Opens the server of mode `serve`, serves until the interrupt, and shuts the server down. */
import type { ModelError } from '@trinity-rft/core';
import { stopping } from '@trinity-rft/http-server';
import {
  assertServed,
  errorResponseTo,
  openEndpointServer,
  type EndpointServer,
  type Refusals,
} from '@trinity-rft/model';
import { createBodyThread, readBody } from '@trinity-rft/model/internal';
import { createServe, type Commit, type ServeOptions, type TurnStore } from '../../outer/outer.js';
import type { StageEngine } from '../../assembly/models/engine.js';
import {
  stageResult,
  type ServeAddress,
  type StageContext,
  type StageResult,
} from '../../context/stage-context.js';
import { describeServed } from './served-model.js';
import type { ServedWeights } from './follow-checkpoints.js';

const defaultDrainMs = 30_000;

export interface ServerParts {
  readonly turns: TurnStore;
  readonly engine: StageEngine;
  readonly models: ServeOptions['createModel'];
  readonly commit: Commit;
  /** Error of all commits, if the algorithm cannot learn from a product. @default no error */
  readonly refusal?: ModelError | undefined;
  /** Additional entries for `/metrics`. */
  readonly extraMetrics?: ServeOptions['extraMetrics'];
  /**
   * Loads new weights until the signal aborts. May resolve earlier. A rejection ends the server.
   */
  readonly updateWeights: (signal: AbortSignal) => Promise<ServedWeights>;
}

export async function serveUntilInterrupted(
  context: StageContext,
  parts: ServerParts,
): Promise<StageResult> {
  const { runtime, serve: options = {} } = context;
  const { turns, engine, updateWeights, refusal } = parts;
  const commit: Commit = refusal ? () => Promise.reject(refusal) : parts.commit;
  // Finishes the commit that an earlier process began but did not finish.
  if (!refusal && (await turns.unfinishedBatch())) await commit();
  const bodies = createBodyThread();
  const parseLongBody: typeof bodies.parse = (body) => bodies.parse(body);
  const serve = createServe({
    turns,
    createModel: parts.models,
    commit,
    policyVersion: () => engine.sampler.policyVersion,
    extraMetrics: parts.extraMetrics,
    readBody: async (request) => {
      assertServed(request);
      return readBody(request, { runtime, parseLongBody }, 'a request of this API');
    },
    modelErrorResponse: errorResponseTo,
    clock: runtime.clock,
    logger: runtime.logger,
  });
  const { endpoint, address } = await openServer(context, serve.handler);
  const stop = new AbortController();
  const update = updateWeights(stop.signal);
  // The race below handles the rejection, but begins to wait only after the model is described.
  update.catch(() => undefined);
  try {
    const step = engine.sampler.policyVersion;
    const model = await describeServed(context.stage, step);
    runtime.logger.info(`Serves train step ${step} on ${endpoint.url}. ${model}`);
    options.onOpen?.({ ...address, model });
    await Promise.race([
      untilAborted(context.signal),
      rejectWhenAborted(engine.failed),
      rejectWhenAborted(turns.failed),
      update.then(() => untilAborted(context.signal)),
    ]);
    await serve.drain(options.drainMs ?? defaultDrainMs);
  } finally {
    await endpoint.close();
    await bodies.close();
    stop.abort();
    // The error is ignored here: it has rejected the race above, or will reject `await update`
    // below.
    await update.catch(() => undefined);
  }
  const { step, checkpoint } = await update;
  return { ...stageResult(step, checkpoint?.directory), interrupted: true };
}

async function openServer(
  { stage, runtime, signal, serve: options = {} }: StageContext,
  handler: (request: Request) => Promise<Response>,
): Promise<{ readonly endpoint: EndpointServer; readonly address: Omit<ServeAddress, 'model'> }> {
  const { host = stage.explorer.serve.host, port = stage.explorer.serve.port } = options;
  const { corsOrigins } = stage.explorer.serve;
  const endpoint = await openEndpointServer({
    host,
    port,
    runtime,
    corsOrigins,
    refusals,
    unready: () => (signal.aborted ? 'draining' : undefined),
  });
  const { apiKey } = endpoint.mount({ handler, ownMetrics: true, apiKey: options.apiKey });
  return { endpoint, address: { url: endpoint.url, apiKey } };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Waits until the signal aborts, and rejects with its reason. */
async function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  await untilAborted(signal);
  throw signal.reason as Error;
}

const keyPlace =
  'It is TRINITY_SERVE_KEY where the server was started, or else what trinity serve has printed.';

const refusals: Refusals = {
  keyMissing: `The request has no key. Expected the key of this server in x-api-key or in Authorization: Bearer. ${keyPlace}`,
  keyUnknown: `The key is not the one of this server. ${keyPlace}`,
  metricsKey: `The metrics need the key of this server in Authorization: Bearer. ${keyPlace}`,
  closed: stopping,
};
