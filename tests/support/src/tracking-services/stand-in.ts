/** Stand-in for the HTTP interfaces of Weights & Biases, MLflow and SwanLab, limited to the requests of a run. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Request as the server received it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Time in milliseconds of a monotonic clock. */
  readonly at: number;
}

interface Fault {
  /** HTTP status; undefined if the service never answers. */
  readonly status: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Part of the paths that fail. @default all paths */
  readonly at?: string;
  /** True if the service does what the request asks, and only its response is lost. @default false */
  readonly isLate?: boolean;
}

/** Recorded requests of the services, and faults to inject. */
export interface TrackingServices {
  readonly url: string;
  readonly port: number;
  readonly requests: readonly SeenRequest[];
  /** Histories of W&B: the lines of each run. */
  readonly histories: ReadonlyMap<string, readonly string[]>;
  /** Points of MLflow and SwanLab as `run key step value`, as a chart shows them; equal points count once. */
  readonly points: ReadonlySet<string>;
  readonly states: ReadonlyMap<string, string>;
  readonly files: ReadonlyMap<string, string>;
  /** Summaries of W&B: the summary of each run. */
  readonly summaries: ReadonlyMap<string, string>;
  /** Makes SwanLab forget its sessions. */
  endSessions(): void;
  /** Sets the answers to the next requests; the last fault stays. */
  fail(...faults: readonly Fault[]): void;
  heal(): void;
  close(): Promise<void>;
}

/** API key that the services accept. */
export const trackingKey = 'a-good-key-of-the-tests';

// The requests of the tests are known to have the expected shape.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = Readonly<Record<string, any>>;
type Answer = { readonly status?: number; readonly json: unknown };

/** Starts the services on 127.0.0.1. @param port port number. @default 0, any free port */
export async function trackingServices(port = 0): Promise<TrackingServices> {
  const requests: SeenRequest[] = [];
  const histories = new Map<string, string[]>();
  const points = new Set<string>();
  const states = new Map<string, string>();
  const files = new Map<string, string>();
  const summaries = new Map<string, string>();
  /** Runs of MLflow, by the filter that finds them. */
  const runsByTag = new Map<string, string>();
  /** Parameters of MLflow, by run and name. */
  const parameters = new Map<string, string>();
  let session = 'session';
  let faults: Fault[] = [];
  let url = '';

  const wandb = (seen: SeenRequest): Answer => {
    const basic = `Basic ${Buffer.from(`api:${trackingKey}`).toString('base64')}`;
    if (seen.headers.authorization !== basic) return { status: 401, json: { error: 'bad key' } };
    const body = JSON.parse(seen.body || '{}') as Json;
    if (seen.path === '/graphql') return { json: { data: graphql(body) } };
    const run = seen.path.split('/').at(-2) ?? '';
    const lines = histories.get(run) ?? [];
    const history = body['files']?.['wandb-history.jsonl'] as
      | { readonly offset: number; readonly content: readonly string[] }
      | undefined;
    history?.content.forEach((line, i) => (lines[history.offset + i] = line));
    histories.set(run, lines);
    const summary = body['files']?.['wandb-summary.json']?.content[0] as string | undefined;
    if (summary !== undefined) summaries.set(run, summary);
    if (body['complete'] !== undefined) states.set(run, `exit ${String(body['exitcode'])}`);
    return { json: {} };
  };

  const graphql = (body: Json): unknown => {
    const variables = body['variables'] as Json;
    if (String(body['query']).includes('createRunFiles')) {
      const names = variables['files'] as readonly string[];
      const list = names.map((name) => ({ name, uploadUrl: `${url}/storage/${name}` }));
      return { createRunFiles: { runID: 'x', uploadHeaders: [], files: list } };
    }
    const name = String(variables['name']);
    const inserted = !histories.has(name);
    if (inserted) histories.set(name, []);
    states.set(name, 'running');
    const entity = { id: 'e', name: variables['entity'] ?? 'somebody' };
    const project = { id: 'p', name: variables['project'], entity };
    const historyLineCount = histories.get(name)?.length;
    const summaryMetrics = summaries.get(name);
    const bucket = { id: 'b', name, historyLineCount, project, summaryMetrics };
    return { upsertBucket: { bucket, inserted } };
  };

  const mlflow = (seen: SeenRequest): Answer => {
    const { pathname, searchParams } = new URL(seen.path, url);
    if (pathname.startsWith('/api/2.0/mlflow-artifacts/')) {
      files.set(pathname, seen.body);
      return { json: {} };
    }
    const body = JSON.parse(seen.body || '{}') as Json;
    const missing = { status: 404, json: { error_code: 'RESOURCE_DOES_NOT_EXIST' } };
    switch (pathname.slice('/api/2.0/mlflow/'.length)) {
      case 'experiments/get-by-name': {
        const id = `experiment ${searchParams.get('experiment_name')}`;
        if (!states.has(id)) return missing;
        return { json: { experiment: { experiment_id: id, lifecycle_stage: 'active' } } };
      }
      case 'experiments/create':
        states.set(`experiment ${String(body['name'])}`, 'active');
        return { json: { experiment_id: `experiment ${String(body['name'])}` } };
      case 'runs/create': {
        const id = `run${states.size}`;
        states.set(id, 'RUNNING');
        for (const { key, value } of body['tags'] as readonly Json[])
          runsByTag.set(`tags.\`${String(key)}\` = '${String(value)}'`, id);
        return { json: { run: { info: infoOf(id) } } };
      }
      case 'runs/search': {
        const id = runsByTag.get(String(body['filter']));
        return { json: id === undefined ? {} : { runs: [{ info: infoOf(id) }] } };
      }
      case 'runs/get': {
        const id = String(searchParams.get('run_id'));
        return states.has(id) ? { json: { run: { info: infoOf(id) } } } : missing;
      }
      case 'runs/update':
        states.set(String(body['run_id']), String(body['status']));
        return { json: {} };
      default:
        for (const { key, value } of (body['params'] ?? []) as readonly Json[]) {
          const name = `${String(body['run_id'])} ${String(key)}`;
          const known = parameters.get(name) ?? String(value);
          if (known !== value) return { status: 400, json: { message: 'Changing param values' } };
          parameters.set(name, known);
        }
        for (const { key, value, step } of (body['metrics'] ?? []) as readonly Json[])
          points.add(`${String(body['run_id'])} ${String(key)} ${String(step)} ${String(value)}`);
        return { json: {} };
    }
  };

  const swanlab = (seen: SeenRequest): Answer => {
    if (seen.path === '/api/login/api_key')
      return seen.headers.authorization === trackingKey
        ? { json: { sid: session, expiredAt: '', userInfo: { username: 'somebody' } } }
        : { status: 401, json: {} };
    if (seen.headers.cookie !== `sid=${session}`) return { status: 401, json: {} };
    const body = JSON.parse(seen.body || '{}') as Json;
    const parts = seen.path.split('/').slice(2);
    const [first = '', , name = '', fourth, id = '', last] = parts;
    if (first === 'projects' && parts.length === 2) {
      states.set(`project ${String(body['name'])}`, 'there');
      return { status: 201, json: {} };
    }
    if (first === 'project' && parts.length === 3)
      return states.has(`project ${name}`)
        ? { json: { name, cuid: 'p1' } }
        : { status: 404, json: {} };
    if (fourth === 'experiment') {
      const cuid = String(body['cuid']);
      const isNew = !states.has(cuid);
      states.set(cuid, 'RUNNING');
      return { status: isNew ? 201 : 200, json: { cuid } };
    }
    if (last === 'state') states.set(id, String(body['state']));
    if (seen.path === '/api/house/metrics')
      for (const { key, data, index } of body['metrics'] as readonly Json[])
        points.add(
          `${String(body['experimentId'])} ${String(key)} ${String(index)} ${String(data)}`,
        );
    return { json: {} };
  };

  const answer = (seen: SeenRequest): Answer => {
    if (seen.path.startsWith('/storage/')) {
      files.set(seen.path, seen.body);
      return { json: {} };
    }
    if (seen.path.startsWith('/api/2.0/')) return mlflow(seen);
    return seen.path.startsWith('/api/') ? swanlab(seen) : wandb(seen);
  };

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url: path = '', headers } = incoming;
    const seen = { method, path, headers, body: await text(incoming), at: performance.now() };
    requests.push(seen);
    const fault = faults.length > 1 ? faults.shift() : faults[0];
    if (fault !== undefined && path.includes(fault.at ?? '')) {
      if (fault.isLate) answer(seen);
      if (fault.status !== undefined) response.writeHead(fault.status, fault.headers).end('broken');
      return;
    }
    const { status = 200, json } = answer(seen);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
  };

  const server = createServer((incoming, response) => void handle(incoming, response));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const bound = (server.address() as AddressInfo).port;
  url = `http://127.0.0.1:${bound}`;
  return {
    url,
    port: bound,
    requests,
    histories,
    points,
    states,
    files,
    summaries,
    endSessions: () => {
      session += '+';
    },
    fail: (...next) => {
      faults = [...next];
    },
    heal: () => {
      faults = [];
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const infoOf = (id: string): object => ({
  run_id: id,
  experiment_id: '1',
  lifecycle_stage: 'active',
  artifact_uri: `mlflow-artifacts:/1/${id}/artifacts`,
});
