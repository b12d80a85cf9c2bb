/**
 * The fine-tuning server. It serves models, files, jobs and graders, and notifies a webhook when
 * jobs end.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, describeError } from '@trinity-rft/core';
import { checkpointSteps } from '@trinity-rft/core/engine';
import { lockRun } from '@trinity-rft/launcher/files';
import { openModelServer } from '@trinity-rft/local/server';
import type { CompleteFn } from '@trinity-rft/workflow/reward';
import { Hono } from 'hono';
import type { BaseModels } from './store/base-models.js';
import { addFileRoutes } from './routes/file-routes.js';
import { addGraderRoutes } from './routes/grader-routes.js';
import { addJobRoutes } from './routes/job-routes.js';
import { addModelRoutes, type Brought } from './routes/model-routes.js';
import { project } from './run/configuration.js';
import { checkpointPrefix, nameOfCheckpoint, trainedName } from './run/prepare.js';
import { checkpointFolder, type StartCommand } from './run/job-run.js';
import { createQueue } from './run/queue.js';
import { checkWebhook, notifyProduct, type WebhookSettings } from './run/webhook.js';
import { openFileStore } from './store/files.js';
import { noSuchUrl } from './wire/refuse.js';
import { isOver, openJobStore, type JobRecord } from './store/jobs.js';

export interface FineTuningServerOptions {
  /** Folder for files, jobs and training runs; created if it is missing. */
  readonly directory: string;
  readonly models: BaseModels;
  /** Starts `trinity` in another process, which executes a job. */
  readonly start: StartCommand;
  /** Address to listen on. @default "127.0.0.1" */
  readonly host?: string | undefined;
  /** Port; 0 = any free port. @default 0 */
  readonly port?: number | undefined;
  /** API key that clients must send. @default a random key */
  readonly apiKey?: string | undefined;
  /**
   * True to execute the Python code in graders, which then has all rights of this process. @default
   * false
   */
  readonly pythonGraders?: boolean | undefined;
  /** Webhook that is notified when jobs end. @default no webhook */
  readonly webhook?: WebhookSettings | undefined;
  /** Maximum number of models that are loaded at the same time. @default 2 */
  readonly keep?: number;
  readonly onEvent: (line: string) => void;
}

export interface FineTuningServer {
  /** URL of the server, `http://HOST:PORT`. */
  readonly url: string;
  readonly apiKey: string;
  /**
   * Stops the server and interrupts the running job, which is resumed when a server is opened on
   * the same directory.
   */
  close(): Promise<void>;
}

const usualKeep = 2;
/**
 * Timeout of a request, in milliseconds. The largest upload, 512 MiB, takes this long at 7.2
 * Mbit/s.
 */
const uploadTimeoutMs = 600_000;

const now = (): number => Math.floor(Date.now() / 1000);

/**
 * Opens the server and continues interrupted jobs.
 * @throws ConfigError if the directory is unusable or used by another server, the port is in use,
 * or the webhook's settings are invalid
 */
export async function openFineTuningServer(
  options: FineTuningServerOptions,
): Promise<FineTuningServer> {
  if (options.webhook) checkWebhook(options.webhook);
  const directory = path.resolve(options.directory);
  await mkdir(runsOf(directory), { recursive: true }).catch((cause: unknown) => {
    throw new ConfigError(
      `The directory ${directory} cannot be used: ${describeError(cause)}. Choose a folder that can be written with --directory.`,
      { code: 'DIRECTORY', cause },
    );
  });
  const unlock = await lockRun(directory, 'serve', 'choose another folder with --directory');
  try {
    const server = await openLocked(directory, options);
    const close = async (): Promise<void> => {
      try {
        await server.close();
      } finally {
        await unlock();
      }
    };
    return { ...server, close };
  } catch (error) {
    await unlock();
    throw error;
  }
}

const runsOf = (directory: string): string => path.join(directory, 'runs');

/** Opens the server on a directory whose lock this process holds. */
async function openLocked(
  directory: string,
  options: FineTuningServerOptions,
): Promise<FineTuningServer> {
  const { models, webhook, pythonGraders = false, keep = usualKeep, onEvent, start } = options;
  const runs = runsOf(directory);
  const files = await openFileStore(path.join(directory, 'files'), now);
  const jobs = await openJobStore(path.join(directory, 'jobs'), now, onEvent);
  const closing = new AbortController();

  const serve = (job: JobRecord, steps: readonly number[]): void => {
    const trained = new Map(trainedModels(job, steps, runs));
    for (const name of server.models.names)
      if (name.startsWith(checkpointPrefix(job)) && !trained.has(name)) server.models.remove(name);
    for (const [name, place] of trained)
      if (!server.models.names.includes(name)) server.models.add(name, place);
  };
  /** Messages that are being sent. */
  const notices = new Set<Promise<void>>();
  const notify = async (job: JobRecord): Promise<void> => {
    if (job.notified) return;
    const { signal } = closing;
    // A webhook that is added later gets no messages about jobs that ended without one.
    if (!webhook || (await notifyProduct(job, webhook, signal, onEvent)))
      await jobs.change(job.id, { notified: true });
  };
  const beginNotice = (job: JobRecord): void => {
    const notice = notify(job).finally(() => notices.delete(notice));
    notices.add(notice);
  };
  const onEnd = (job: JobRecord): void => {
    onEvent(`${job.id}: ${job.status}${job.error ? `. ${job.error.message}` : ''}`);
    beginNotice(job);
  };
  const complete: CompleteFn = (name, request, signal) =>
    server.models.use(name, async (model, ended) => {
      try {
        const { choices, usage } = await model
          .openai()
          .chat.completions.create(
            { ...request, model: name, messages: [...request.messages] },
            { signal },
          );
        return { text: choices[0]?.message.content ?? '', usage };
      } finally {
        ended();
      }
    });

  const onStart = ({ id, model, steps }: JobRecord): void =>
    onEvent(`${id}: running, ${steps} steps of ${model}`);
  const context = { jobs, files, models, runs, pythonGraders, start, now, onStart, onEnd, serve };
  const queue = createQueue(context);
  const app = new Hono<Brought>();
  app.onError((error) => {
    throw error;
  });
  app.notFound(({ req }) => {
    throw noSuchUrl(req.raw);
  });
  addFileRoutes(app, files, jobs);
  addJobRoutes(app, { ...context, queue });
  addGraderRoutes(app, { models, pythonGraders, complete });
  addModelRoutes(app, { models, jobs });
  const trained = await Promise.all(
    jobs.list().map(async (job) => {
      const steps = await checkpointSteps(path.join(runs, project, job.id));
      return trainedModels(job, steps, runs);
    }),
  );
  const base = Object.entries(models).map(([name, { model }]) => [name, model.model_path] as const);
  const server = await openModelServer({
    ...{ host: options.host, port: options.port, apiKey: options.apiKey },
    models: Object.fromEntries([...base, ...trained.flat()]),
    keep,
    reloadMs: 0,
    requestTimeoutMs: uploadTimeoutMs,
    onEvent,
    answerFirst: async (request, served) =>
      isOwn(request) ? app.fetch(request, { served }) : undefined,
  });
  queue.begin();
  for (const job of jobs.list()) if (isOver(job.status)) beginNotice(job);
  return {
    url: server.url,
    apiKey: server.apiKey,
    close: async () => {
      closing.abort();
      await Promise.all([queue.close(), server.close()]);
      await Promise.all(notices);
    },
  };
}

/** Returns the checkpoints of a job and its trained model, as pairs of model name and folder. */
function trainedModels(
  job: JobRecord,
  steps: readonly number[],
  runs: string,
): readonly (readonly [string, string])[] {
  const named = [
    [trainedName(job), job.checkpoint],
    ...steps.map((step) => [nameOfCheckpoint(job, step), checkpointFolder(runs, job.id, step)]),
  ] as const;
  return named.flatMap(([name, place]) => (name && place ? [[name, place] as const] : []));
}

/**
 * Returns true if a request is for a route of this package. All other requests are passed to the
 * model server.
 */
function isOwn({ method, url }: Request): boolean {
  const { pathname } = new URL(url);
  const isModel = /^\/v1\/models(\/|$)/.test(pathname) && method !== 'POST';
  return isModel || /^\/v1\/(files|fine_tuning)(\/|$)/.test(pathname);
}
