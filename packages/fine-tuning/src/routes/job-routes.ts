/** HTTP routes for jobs, their events and their checkpoints. */
import { hash, randomInt } from 'node:crypto';
import path from 'node:path';
import { checkpointSteps } from '@trinity-rft/core/engine';
import type { Hono } from 'hono';
import type { BaseModels } from '../store/base-models.js';
import { project } from '../run/configuration.js';
import { hyperparametersOf, nameOfCheckpoint, trainedName } from '../run/prepare.js';
import type { JobOptions } from '../run/job-run.js';
import type { Queue } from '../run/queue.js';
import type { FileStore } from '../store/files.js';
import { isOver, type JobRecord, type JobStatus, type JobStore } from '../store/jobs.js';
import { checkGrader } from './grader-routes.js';
import { methodOf, readJobRequest, type JobRequest } from '../wire/job-request.js';
import { pageOf } from '../wire/page.js';
import { noSuchFile, refused } from '../wire/refuse.js';
import type { Brought } from './model-routes.js';
import { queryOf, readBody } from './read-request.js';

export interface JobRoutesContext extends Pick<JobOptions, 'serve'> {
  readonly jobs: JobStore;
  readonly files: FileStore;
  readonly models: BaseModels;
  readonly queue: Queue;
  readonly runs: string;
  readonly pythonGraders: boolean;
  /** Returns the Unix time, in seconds. */
  readonly now: () => number;
  readonly onEnd: (job: JobRecord) => void;
}

/**
 * Maximum age of a job, in seconds, for which a client's retry of the request returns the job
 * instead of creating another.
 */
const repeatedWithinS = 600;

const place = '/v1/fine_tuning/jobs';

export function addJobRoutes(app: Hono<Brought>, context: JobRoutesContext): void {
  const { jobs, queue } = context;
  /**
   * Changes a job's record and then stops the job's process. With this order, a job that succeeds
   * at the same moment cannot overwrite the change.
   */
  const stop = (id: string, changes: Partial<JobRecord>): Promise<JobRecord> => {
    const changed = jobs.change(id, changes);
    queue.stop(id);
    return changed;
  };
  app.post(place, async ({ req, json }) => {
    const body = await readBody(req.raw);
    const job = repeatedJob(req.raw, body, context) ?? (await createJob(body, context));
    return json(shownJob(job));
  });
  app.get(place, ({ req, json }) => {
    const query = queryOf(req.raw);
    const wanted = metadataIn(query);
    const fitting = jobs
      .list()
      .filter(({ metadata }) => wanted.every(([key, value]) => metadata?.[key] === value));
    return json(pageOf(fitting.map(shownJob).toReversed(), query));
  });
  app.get(`${place}/:id`, ({ req, json }) => json(shownJob(jobs.get(req.param('id')))));
  app.get(`${place}/:id/events`, ({ req, json }) =>
    json(pageOf(jobs.events(req.param('id')).toReversed(), queryOf(req.raw))),
  );
  app.get(`${place}/:id/checkpoints`, async ({ req, json }) => {
    const checkpoints = await checkpointsOf(jobs.get(req.param('id')), context);
    return json(pageOf(checkpoints.toReversed(), queryOf(req.raw), { usual: 10 }));
  });
  app.post(`${place}/:id/cancel`, async ({ req, json }) => {
    const job = changeable(jobs.get(req.param('id')), 'cancelled', (status) => !isOver(status));
    const cancelled = await stop(job.id, { status: 'cancelled', finished_at: context.now() });
    await jobs.say(job.id, { message: 'The job has been cancelled' });
    context.onEnd(cancelled);
    return json(shownJob(cancelled));
  });
  app.post(`${place}/:id/pause`, async ({ req, json }) => {
    const may = (status: JobStatus): boolean => status === 'running' || status === 'queued';
    const job = changeable(jobs.get(req.param('id')), 'paused', may);
    const paused = await stop(job.id, { status: 'paused' });
    await jobs.say(job.id, { message: 'The job has been paused' });
    return json(shownJob(paused));
  });
  app.post(`${place}/:id/resume`, async ({ req, json }) => {
    const job = changeable(jobs.get(req.param('id')), 'resumed', (status) => status === 'paused');
    const resumed = await jobs.change(job.id, { status: 'queued' });
    await jobs.say(job.id, { message: 'The job has been resumed' });
    queue.wake();
    return json(shownJob(resumed));
  });
}

function changeable(
  job: JobRecord,
  change: string,
  may: (status: JobStatus) => boolean,
): JobRecord {
  if (may(job.status)) return job;
  throw refused(`A job with the status ${job.status} cannot be ${change}.`, {
    param: 'fine_tuning_job_id',
    code: 'invalid_state',
  });
}

const digestOf = (body: unknown): string => hash('sha256', JSON.stringify(body));

/**
 * Finds the job that an earlier attempt at the same request created. Returns undefined if the
 * request is not a retry. Clients retry a request if its response was lost.
 */
function repeatedJob(
  { headers }: Request,
  body: unknown,
  { jobs, now }: JobRoutesContext,
): JobRecord | undefined {
  if (!(Number(headers.get('x-stainless-retry-count')) > 0)) return undefined;
  const request = digestOf(body);
  return jobs
    .list()
    .findLast((job) => job.request === request && now() - job.created_at < repeatedWithinS);
}

async function createJob(
  body: Readonly<Record<string, unknown>>,
  context: JobRoutesContext,
): Promise<JobRecord> {
  const { jobs, queue } = context;
  const request = readJobRequest(body);
  checkRequest(request, context);
  const job = await jobs.create({
    model: request.model,
    training_file: request.training_file,
    validation_file: request.validation_file ?? null,
    suffix: request.suffix ?? '',
    seed: request.seed ?? randomInt(2 ** 31),
    metadata: request.metadata ?? null,
    request: digestOf(body),
    method: methodOf(request),
    status: 'validating_files',
    finished_at: null,
    error: null,
    result_files: [],
    trained_tokens: null,
    steps: null,
    checkpoint: null,
    deleted: false,
    notified: false,
  });
  await jobs.say(job.id, { message: `Created fine-tuning job: ${job.id}` });
  queue.add(job.id);
  return job;
}

/**
 * Checks that the server can execute the requested job.
 * @throws ModelError 400 for an unknown model or file, or an unsupported request
 */
function checkRequest(request: JobRequest, context: JobRoutesContext): void {
  const { models, jobs, files } = context;
  const { model, training_file: training, validation_file: validation } = request;
  const names = [...Object.keys(models), ...jobs.list().flatMap((job) => trainedName(job) ?? [])];
  if (!names.includes(model))
    throw refused(
      `The model "${model.slice(0, 100)}" is not available for fine-tuning here. The models are ${names.slice(0, 20).join(', ')}.`,
      { param: 'model', code: 'model_not_available' },
    );
  for (const [param, id] of Object.entries({
    training_file: training,
    validation_file: validation,
  }))
    if (id && !files.list().some((file) => file.id === id)) throw noSuchFileIn(param, id);
  const method = methodOf(request);
  if (method.type !== 'reinforcement') return;
  if (!validation)
    throw refused("Missing required parameter: 'validation_file', which reinforcement needs.", {
      param: 'validation_file',
      code: 'missing_required_parameter',
    });
  checkGrader(method.reinforcement.grader, context, 'method.reinforcement.grader');
}

const noSuchFileIn = (param: string, id: string): Error =>
  refused(noSuchFile(id).message, { param, code: 'file_not_found' });

/** Returns the names and values of query parameters such as `metadata[key]=value`. */
const metadataIn = (query: URLSearchParams): readonly (readonly [string, string])[] =>
  [...query].flatMap(([name, value]) => {
    const key = /^metadata\[(.*)\]$/.exec(name)?.[1];
    return key === undefined ? [] : [[key, value] as const];
  });

/** Converts a job's record to the job object of the API. */
function shownJob(job: JobRecord): { readonly id: string } {
  return {
    id: job.id,
    ...{
      object: 'fine_tuning.job',
      created_at: job.created_at,
      finished_at: job.finished_at,
      status: job.status,
      model: job.model,
      fine_tuned_model: trainedName(job) ?? null,
      organization_id: 'org-local',
      training_file: job.training_file,
      validation_file: job.validation_file,
      result_files: job.result_files,
      trained_tokens: job.trained_tokens,
      seed: job.seed,
      user_provided_suffix: job.suffix === '' ? null : job.suffix,
      hyperparameters: hyperparametersOf(job.method),
      method: job.method,
      error: job.error,
      estimated_finish: null,
      integrations: [],
      metadata: job.metadata,
    },
  };
}

async function checkpointsOf(job: JobRecord, { jobs, runs, serve }: JobRoutesContext) {
  const steps = await checkpointSteps(path.join(runs, project, job.id));
  // The run may have saved one since its folder was last read.
  serve(job, steps);
  const said = new Map(jobs.events(job.id).map((event) => [event.data['step'], event.data]));
  const saved = Map.groupBy(jobs.events(job.id), ({ data }) => data['checkpoint']);
  return steps.map((step) => {
    const { total_steps: _, ...trained } = said.get(step) ?? { step };
    const [first, ...later] = saved.get(step) ?? [];
    const valid = later.at(-1)?.data['full_valid_loss'];
    return {
      id: `ftckpt-${job.id.slice('ftjob-'.length)}-${step}`,
      object: 'fine_tuning.job.checkpoint',
      created_at: first?.created_at ?? job.created_at,
      fine_tuning_job_id: job.id,
      fine_tuned_model_checkpoint: nameOfCheckpoint(job, step) ?? null,
      step_number: step,
      metrics: { ...trained, ...(valid !== undefined && { full_valid_loss: valid }) },
    };
  });
}
