/** Records a training run in MLflow, through its REST API (2.0). */
import { basicAuthorization, need, pick, request, type ServiceAnswer } from './request.js';
import {
  ServiceError,
  type PreviewTable,
  type RunOutcome,
  type ServiceRecord,
  type TrackedRun,
} from './service.js';

export interface MlflowOptions {
  /** URL of the server. @default http://localhost:5000 */
  readonly uri?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Access token. It is used instead of user name and password. */
  readonly token?: string | undefined;
  /** Name of the experiment. */
  readonly project: string;
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Parameters of the training run, as a flat record without secrets. */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Limits that every version of the MLflow server accepts: numbers of `metrics` and `params` per
 * `log-batch` request, and numbers of characters per parameter `value` and per `key`.
 */
const limits = { metrics: 1000, params: 100, value: 500, key: 250 } as const;

const outcomes: Readonly<Record<RunOutcome, string>> = {
  finished: 'FINISHED',
  interrupted: 'KILLED',
  failed: 'FAILED',
};

type Call = (
  path: string,
  body: object,
  signal: AbortSignal,
  more?: Partial<Parameters<typeof request>[1]>,
) => Promise<ServiceAnswer>;

export function mlflowRun(options: MlflowOptions): TrackedRun {
  const root = (options.uri ?? 'http://localhost:5000').replace(/\/+$/, '');
  const headers = authorization(options);
  const call: Call = (path, body, signal, more) =>
    request(`${root}/api/2.0/${path}`, { headers, body, signal, ...more });
  let artifacts = '';
  return {
    open: async ({ id: known, url: knownUrl }, signal) => {
      const found = knownUrl === '' ? undefined : await findRun(call, known, signal);
      const started = found
        ? undefined
        : await startRun(call, { options, root, id: known }, signal);
      const info = found ?? started;
      const id = need(info, root, 'run_id');
      artifacts = need(info, root, 'artifact_uri');
      if (found) await call('mlflow/runs/update', { run_id: id, status: 'RUNNING' }, signal);
      const url = `${root}/#/experiments/${need(info, root, 'experiment_id')}/runs/${id}`;
      return { id, url, isNew: found === undefined };
    },
    send: async ({ records }, run, signal) => {
      for (const metrics of slices(records.flatMap(metricsOf), limits.metrics))
        await call('mlflow/runs/log-batch', { run_id: run.id, metrics }, signal);
    },
    showTable: async (table, run, signal) => {
      const base = proxyPath(artifacts);
      if (base === undefined) return;
      await call(`mlflow-artifacts/artifacts/${base}/${tableName}`, {}, signal, {
        method: 'PUT',
        body: JSON.stringify(tableJson(table)),
      });
      const value = JSON.stringify([{ path: tableName, type: 'table' }]);
      const tag = { run_id: run.id, key: 'mlflow.loggedArtifacts', value };
      await call('mlflow/runs/set-tag', tag, signal);
    },
    end: async (outcome, run, signal) => {
      const end = { run_id: run.id, status: outcomes[outcome], end_time: Date.now() };
      await call('mlflow/runs/update', end, signal);
    },
  };
}

function authorization({ token, username, password }: MlflowOptions): Record<string, string> {
  if (token !== undefined) return { authorization: `Bearer ${token}` };
  if (username === undefined) return {};
  return { authorization: basicAuthorization(username, password ?? '') };
}

/**
 * Finds the run with this id at the server. Returns undefined if it does not exist or was deleted.
 */
async function findRun(call: Call, id: string, signal: AbortSignal): Promise<unknown> {
  const path = `mlflow/runs/get?run_id=${encodeURIComponent(id)}`;
  const answer = await call(path, {}, signal, { method: 'GET', body: undefined, accept: [404] });
  const info = pick(answer.json, 'run', 'info');
  return answer.status === 404 || pick(info, 'lifecycle_stage') === 'deleted' ? undefined : info;
}

async function experimentOf(
  call: Call,
  root: string,
  { project }: MlflowOptions,
  signal: AbortSignal,
): Promise<string> {
  const query = `mlflow/experiments/get-by-name?experiment_name=${encodeURIComponent(project)}`;
  const get = { method: 'GET', body: undefined, accept: [404] } as const;
  const found = await call(query, {}, signal, get);
  const experiment = pick(found.json, 'experiment');
  if (pick(experiment, 'lifecycle_stage') === 'deleted')
    throw new ServiceError(
      `MLflow: the experiment "${project}" was deleted. Restore it, or choose another project.`,
      { problem: 'rejected' },
    );
  if (found.status !== 404) return need(experiment, root, 'experiment_id');
  const made = await call('mlflow/experiments/create', { name: project }, signal, {
    accept: [400],
  });
  // Another training run may have created the experiment at the same time.
  if (made.status === 400)
    return need((await call(query, {}, signal, get)).json, root, 'experiment', 'experiment_id');
  return need(made.json, root, 'experiment_id');
}

/** Tag with the id under which a training run was started. */
const idTag = 'trinity_rft.id';

/**
 * Starts a run and logs its parameters. Continues with a run that was started under this id before,
 * whose response was lost or whose parameters were not logged.
 */
async function startRun(
  call: Call,
  { options, root, id }: NewRun & { readonly root: string },
  signal: AbortSignal,
): Promise<unknown> {
  const experiment = await experimentOf(call, root, options, signal);
  const search = { experiment_ids: [experiment], filter: `tags.\`${idTag}\` = '${id}'` };
  const { json } = await call('mlflow/runs/search', search, signal);
  const found = pick(json, 'runs', '0', 'info');
  const info = found ?? (await createRun(call, { options, experiment, id }, signal));
  const params = Object.entries(options.params).map(([key, value]) => ({
    key: keyOf(key),
    value: value.slice(0, limits.value),
  }));
  // MLflow refuses parameters that were logged before and have other values now.
  const more = { accept: found === undefined ? [] : [400] };
  for (const part of slices(params, limits.params)) {
    const batch = { run_id: pick(info, 'run_id'), params: part };
    await call('mlflow/runs/log-batch', batch, signal, more);
  }
  return info;
}

interface NewRun {
  readonly options: MlflowOptions;
  /** Value of {@link idTag}. */
  readonly id: string;
}

async function createRun(
  call: Call,
  { options: { name, tags }, experiment, id }: NewRun & { readonly experiment: string },
  signal: AbortSignal,
): Promise<unknown> {
  const all = Object.entries({ 'mlflow.runName': name, ...tags, [idTag]: id });
  const { json } = await call(
    'mlflow/runs/create',
    {
      experiment_id: experiment,
      run_name: name,
      start_time: Date.now(),
      tags: all.map(([key, value]) => ({ key, value })),
    },
    signal,
  );
  return pick(json, 'run', 'info');
}

const metricsOf = ({ metrics, step, time }: ServiceRecord) =>
  Object.entries(metrics).map(([key, value]) => ({
    key: keyOf(key),
    value,
    step,
    timestamp: time,
  }));

/**
 * Returns a name for a metric that MLflow accepts. `@` is replaced with `_at_`, as in Trinity-RFT.
 */
const keyOf = (key: string): string =>
  key
    .replaceAll('@', '_at_')
    .replaceAll(/[^\w\-. :/]/g, '_')
    .slice(0, limits.key);

const tableName = 'rollout_examples.json';

/** Converts a table to the `split` layout of pandas, which MLflow's web page can show. */
const tableJson = ({ columns, rows }: PreviewTable): object => ({ columns, data: rows });

/**
 * Returns the path with which artifacts are uploaded through the server, or undefined if the server
 * does not give access to its artifact storage.
 */
function proxyPath(uri: string): string | undefined {
  const match = /^mlflow-artifacts:(?:\/\/[^/]*)?\/(.*)$/.exec(uri);
  return match?.[1]?.split('/').map(encodeURIComponent).join('/');
}

function* slices<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size);
}
