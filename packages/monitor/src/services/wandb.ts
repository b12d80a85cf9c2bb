/**
 * Records a training run in Weights & Biases, through the API that its open-source client uses:
 * GraphQL for the run, and `file_stream` for its history. Each line of the history has a fixed
 * position, so a line that is sent twice is stored once.
 */
import { createHash } from 'node:crypto';
import type { MetricRecord } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';
import { basicAuthorization, need, pick, request } from './request.js';
import { ServiceError, type PreviewTable, type RemoteRun, type TrackedRun } from './service.js';

export interface WandbOptions {
  /** URL of the service. @default https://api.wandb.ai */
  readonly baseUrl?: string | undefined;
  readonly apiKey: string;
  /** Name of the user or team that owns the run. @default the owner of the key */
  readonly entity?: string | undefined;
  readonly project: string;
  readonly name: string;
  readonly group: string;
  readonly tags: readonly string[];
  /** Configuration of the training run, without secrets. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** Name of the metric that is the x-axis of the other metrics, for each role. */
const axes: Readonly<Record<MetricRecord['role'], string>> = {
  explorer: 'explore_step',
  trainer: 'train_step',
  bench: 'checkpoint_step',
};

export function wandbRun(options: WandbOptions): TrackedRun {
  const root = (options.baseUrl ?? 'https://api.wandb.ai').replace(/\/+$/, '');
  const headers = { authorization: basicAuthorization('api', options.apiKey) };
  // Entity and project as the service names them.
  let place = '';
  let started = 0;
  let definitions: readonly object[] = [];
  // The newest value of each metric.
  let summary: Readonly<Record<string, unknown>> = {};

  const graphql = async (
    query: string,
    variables: object,
    signal: AbortSignal,
  ): Promise<unknown> => {
    const url = `${root}/graphql`;
    const { json } = await request(url, { headers, body: { query, variables }, signal });
    const errors = pick(json, 'errors');
    if (Array.isArray(errors) && errors.length > 0)
      throw new ServiceError(`Weights & Biases: ${String(pick(errors[0], 'message'))}`, {
        problem: 'rejected',
      });
    return pick(json, 'data');
  };

  const upsert = async (id: string, signal: AbortSignal): Promise<unknown> => {
    const { entity, project, name, group, tags, config } = options;
    const own = { m: definitions, t: {} };
    const values = Object.entries({ ...config, _wandb: own }).map(([key, value]) => [
      key,
      { value },
    ]);
    const variables = {
      name: id,
      entity,
      project,
      displayName: name,
      groupName: group === '' ? undefined : group,
      tags,
      config: JSON.stringify(Object.fromEntries(values)),
    };
    const data = await graphql(upsertBucket, variables, signal);
    return pick(data, 'upsertBucket');
  };

  const fileStream = (run: RemoteRun, body: object, signal: AbortSignal) =>
    request(`${root}/files/${place}/${run.id}/file_stream`, { headers, body, signal });

  /** Defines each new metric and its x-axis at the service, so that charts use the right axis. */
  const define = async (
    records: readonly MetricRecord[],
    run: RemoteRun,
    signal: AbortSignal,
  ): Promise<void> => {
    const known = new Set(definitions.map((definition) => String(pick(definition, '1'))));
    const before = definitions;
    for (const { role, metrics } of records)
      for (const name of [axes[role], ...Object.keys(metrics)]) {
        if (known.has(name)) continue;
        known.add(name);
        definitions = [...definitions, definitionOf(name, axes[role], definitions)];
      }
    if (definitions.length === before.length) return;
    try {
      await upsert(run.id, signal);
    } catch (error) {
      definitions = before;
      throw error;
    }
  };

  return {
    open: async ({ id }, signal) => {
      const answer = await upsert(id, signal);
      const bucket = pick(answer, 'bucket');
      const project = need(bucket, root, 'project', 'name');
      const entity = need(bucket, root, 'project', 'entity', 'name');
      place = [entity, project].map(encodeURIComponent).join('/');
      summary = summaryOf(pick(bucket, 'summaryMetrics'));
      started = Date.now() - runtimeOf(summary) * 1000;
      const url = `${root.replace('//api.', '//')}/${place}/runs/${id}`;
      return { id, url, isNew: pick(answer, 'inserted') === true };
    },
    send: async ({ records, first }, run, signal) => {
      await define(records, run, signal);
      const lines = records.map(({ role, step, metrics, time }, i) => ({
        ...metrics,
        [axes[role]]: step,
        _step: first + i,
        _timestamp: time / 1000,
        _runtime: Math.max(0, (time - started) / 1000),
      }));
      summary = Object.assign({ ...summary }, ...lines) as typeof summary;
      const content = lines.map((line) => JSON.stringify(line));
      const files = { 'wandb-history.jsonl': { offset: first, content }, ...summaryFile(summary) };
      await fileStream(run, { files }, signal);
    },
    showTable: async (table, run, signal) => {
      const { path, text, size, sha256 } = tableFile(table);
      const [entity, project] = place.split('/').map(decodeURIComponent);
      const variables = { entity, project, run: run.id, files: [path] };
      const answer = pick(await graphql(createRunFiles, variables, signal), 'createRunFiles');
      const files = pick(answer, 'files');
      const url = need(Array.isArray(files) ? files[0] : undefined, root, 'uploadUrl');
      const uploadHeaders = headersOf(pick(answer, 'uploadHeaders'));
      await request(url, { method: 'PUT', headers: uploadHeaders, body: text, signal });
      const shape = { ncols: table.columns.length, nrows: table.rows.length };
      const entry = { _type: 'table-file', path, size, sha256, ...shape };
      summary = { ...summary, rollout_examples: entry };
      await fileStream(run, { files: summaryFile(summary), uploaded: [path] }, signal);
    },
    beat: async (run, signal) => {
      await fileStream(run, {}, signal);
    },
    end: async (outcome, run, signal) => {
      const exitcode = outcome === 'failed' ? 1 : outcome === 'interrupted' ? 130 : 0;
      await fileStream(run, { complete: true, exitcode }, signal);
    },
  };
}

/**
 * Returns the definition of a metric in the service's format, a MetricRecord with field numbers as
 * keys. Field 1 is the name, field 5 is the position of the x-axis in the list of definitions, from
 * 1, and field 6 contains options (1: keep in step, 3: defined explicitly).
 */
function definitionOf(name: string, axis: string, all: readonly object[]): object {
  if (name === axis) return { '1': name, '6': [3], '7': [] };
  const place = all.findIndex((definition) => pick(definition, '1') === axis) + 1;
  return { '1': name, '5': place, '6': [1, 3], '7': [] };
}

/**
 * Parses the summary that the service has stored for a resumed training run. The next summary must
 * include it, because the service replaces the whole summary.
 */
function summaryOf(text: unknown): Readonly<Record<string, unknown>> {
  const summary = typeof text === 'string' ? tryJson(text) : undefined;
  return typeof summary === 'object' ? { ...summary } : {};
}

/** Returns the duration of the training run before it was stopped, in seconds. */
function runtimeOf(summary: object): number {
  const runtime = pick(summary, '_runtime');
  return typeof runtime === 'number' ? runtime : 0;
}

const summaryFile = (summary: object): object => ({
  'wandb-summary.json': { offset: 0, content: [JSON.stringify(summary)] },
});

function tableFile({ columns, rows }: PreviewTable) {
  const text = JSON.stringify({ columns, data: rows });
  const sha256 = createHash('sha256').update(text).digest('hex');
  const path = `media/table/rollout_examples_${sha256.slice(0, 20)}.table.json`;
  return { path, text, sha256, size: Buffer.byteLength(text) };
}

/** Converts a list of `Name:value` strings to HTTP headers. */
function headersOf(list: unknown): Record<string, string> {
  const lines = Array.isArray(list) ? list.filter((line) => typeof line === 'string') : [];
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

const upsertBucket = `mutation UpsertBucket($name: String, $project: String, $entity: String,
  $groupName: String, $displayName: String, $config: JSONString, $tags: [String!]) {
  upsertBucket(input: { name: $name, modelName: $project, entityName: $entity,
    groupName: $groupName, displayName: $displayName, config: $config, tags: $tags }) {
    bucket { id name historyLineCount summaryMetrics project { id name entity { id name } } }
    inserted
  }
}`;

const createRunFiles = `mutation CreateRunFiles($entity: String!, $project: String!, $run: String!, $files: [String!]!) {
  createRunFiles(input: { entityName: $entity, projectName: $project, runName: $run, files: $files }) {
    runID
    uploadHeaders
    files { name uploadUrl }
  }
}`;
