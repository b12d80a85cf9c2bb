/** Records a training run in SwanLab, through the API that its open-source client uses. */
import { need, request, type ServiceAnswer } from './request.js';
import { ServiceError, type RunOutcome, type ServiceRecord, type TrackedRun } from './service.js';

export interface SwanlabOptions {
  /** URL of the service. @default https://api.swanlab.cn */
  readonly host?: string | undefined;
  readonly apiKey: string;
  /** Name of the user or organisation that owns the run. @default the owner of the key */
  readonly workspace?: string | undefined;
  readonly project: string;
  readonly name: string;
  readonly group: string;
  readonly description?: string | undefined;
  readonly tags: readonly string[];
  /** Configuration of the training run, without secrets. */
  readonly config: Readonly<Record<string, unknown>>;
}

const outcomes: Readonly<Record<RunOutcome, string>> = {
  finished: 'FINISHED',
  interrupted: 'ABORTED',
  failed: 'CRASHED',
};

const colour = '#528d59';
const mostScalars = 1000;
/**
 * Time between two heartbeats, in ms. It is the same as in SwanLab's client. Metrics do not count
 * as heartbeats.
 */
const beatMs = 600_000;
/** Value of a field that heartbeats must contain. SwanLab's client sends the same value. */
const beatFlag = '123456';

export function swanlabRun(options: SwanlabOptions): TrackedRun {
  const root = `${(options.host ?? 'https://api.swanlab.cn').replace(/\/+$|\/api\/*$/, '')}/api`;
  let session = '';
  let beatAt: number | undefined;
  let workspace = '';
  let project = { name: '', id: '' };
  let columns: ReadonlySet<string> = new Set();

  const login = async (signal: AbortSignal): Promise<void> => {
    const headers = { authorization: options.apiKey };
    const { json } = await request(`${root}/login/api_key`, { headers, signal });
    session = need(json, root, 'sid');
    workspace = options.workspace ?? need(json, root, 'userInfo', 'username');
  };

  const call = async (
    path: string,
    signal: AbortSignal,
    more: Partial<Parameters<typeof request>[1]>,
  ): Promise<ServiceAnswer> => {
    const once = () =>
      request(`${root}/${path}`, { headers: { cookie: `sid=${session}` }, signal, ...more });
    try {
      return await once();
    } catch (error) {
      if (!(error instanceof ServiceError) || error.problem !== 'refused') throw error;
      // Sessions may expire during a training run.
      await login(signal);
      return once();
    }
  };

  const beat = async (id: string, signal: AbortSignal): Promise<void> => {
    if (beatAt !== undefined && Date.now() - beatAt < beatMs) return;
    await call(`house/experiments/${id}/heartbeat`, signal, { body: { flagId: beatFlag } });
    beatAt = Date.now();
  };

  const openProject = async (signal: AbortSignal): Promise<void> => {
    const at = `project/${encodeURIComponent(workspace)}/${encodeURIComponent(options.project)}`;
    const get = { method: 'GET' } as const;
    const found = await call(at, signal, { ...get, accept: [404] });
    if (found.status === 404)
      await call(`projects/${encodeURIComponent(workspace)}`, signal, {
        body: { name: options.project, visibility: 'PRIVATE' },
      });
    const { json } = found.status === 404 ? await call(at, signal, get) : found;
    project = { name: need(json, root, 'name'), id: need(json, root, 'cuid') };
  };

  const path = (folder: string): string =>
    `${folder}/${encodeURIComponent(workspace)}/${encodeURIComponent(project.name)}`;

  return {
    open: async ({ id: known }, signal) => {
      await login(signal);
      await openProject(signal);
      const { name, group, description, tags, config } = options;
      const body = {
        name,
        cuid: known,
        createdAt: new Date().toISOString(),
        colors: [colour, colour],
        cluster: group === '' ? undefined : group,
        description,
        labels: tags.length === 0 ? undefined : tags.map((tag) => ({ name: tag })),
      };
      const { status, json } = await call(`${path('project')}/experiment`, signal, { body });
      const id = need(json, root, 'cuid');
      await call(`${path('project')}/runs/${id}/profile`, signal, {
        method: 'PUT',
        body: { config: configOf(config) },
      });
      columns = new Set();
      beatAt = undefined;
      await beat(id, signal);
      const host = root.replace('//api.', '//').replace(/\/api$/, '');
      const url = `${host}/@${workspace}/${project.name}/runs/${id}/chart`;
      return { id, url, isNew: status === 201 };
    },
    send: async ({ records }, run, signal) => {
      const names = new Set(records.flatMap(({ metrics }) => Object.keys(metrics)));
      const fresh = [...names].filter((name) => !columns.has(name));
      if (fresh.length > 0) {
        const series = fresh.map((key) => ({ key, type: 'FLOAT', ...sectionOf(key) }));
        await call(`${path('projects')}/series`, signal, { body: { series } });
        columns = new Set([...columns, ...fresh]);
      }
      const scalars = records.flatMap(scalarsOf);
      for (let i = 0; i < scalars.length; i += mostScalars) {
        const metrics = scalars.slice(i, i + mostScalars);
        const ids = { type: 'scalar', projectId: project.id, experimentId: run.id };
        await call('house/metrics', signal, { body: { ...ids, metrics } });
      }
      await beat(run.id, signal);
    },
    beat: (run, signal) => beat(run.id, signal),
    end: async (outcome, run, signal) => {
      await call(`${path('project')}/runs/${run.id}/state`, signal, {
        method: 'PUT',
        body: { state: outcomes[outcome], finishedAt: new Date().toISOString(), from: 'sdk' },
      });
    },
  };
}

const scalarsOf = ({ metrics, step, time }: ServiceRecord) =>
  Object.entries(metrics).map(([key, data]) => ({
    key,
    index: step,
    data,
    create_time: new Date(time).toISOString(),
  }));

/**
 * Returns the section in which a metric is shown: the part of its name before the first slash. A
 * name without a slash has no section.
 */
const sectionOf = (key: string): { readonly sectionName?: string } =>
  key.includes('/') ? { sectionName: key.slice(0, key.indexOf('/')) } : {};

/** Converts a configuration to SwanLab's format, in which the entries are numbered. */
const configOf = (config: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(
    Object.entries(config).map(([key, value], sort) => [key, { value, desc: '', sort }]),
  );
