/** Compares a run, a restart and a resume with the records that a real MLflow server returns. */
import { spawn, type ChildProcess } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@trinity-rft/core';
import { findPython, freePort } from '@trinity-rft/test-support';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { jsonlSink } from '../src/jsonl-sink.js';
import { mlflowRun } from '../src/services/mlflow.js';
import { serviceSink } from '../src/services/service-sink.js';

const folder = path.join(tmpdir(), `trinity-mlflow-${process.pid}`);
beforeAll(() => void mkdirSync(folder, { recursive: true }));
const requirement = 'mlflow==3.14.0';
const deadlineMs = 120_000;
let server: ChildProcess | undefined;
let uri = '';

async function waitUntilHealthy(): Promise<void> {
  const until = Date.now() + deadlineMs;
  for (;;) {
    const answer = await fetch(`${uri}/health`).catch(() => undefined);
    if (answer?.ok) return;
    if (Date.now() > until) throw new Error(`MLflow did not start within ${deadlineMs} ms.`);
    await systemClock.sleep(200);
  }
}

beforeAll(async () => {
  const python = await findPython([requirement]);
  if ('missing' in python) return;
  const port = await freePort();
  uri = `http://127.0.0.1:${port}`;
  const database = `sqlite:///${path.join(folder, 'mlflow.db')}`;
  const storage = ['--backend-store-uri', database, '--artifacts-destination', folder];
  const address = ['--host', '127.0.0.1', '--port', String(port), '--workers', '1'];
  server = spawn(
    path.join(path.dirname(python.program), 'mlflow'),
    ['server', ...storage, ...address],
    {
      cwd: folder,
      stdio: 'ignore',
      detached: true,
    },
  );
  await waitUntilHealthy();
}, 1_000_000);

afterAll(() => {
  // The negative id kills the whole process group, which includes the server's workers.
  if (server?.pid !== undefined) process.kill(-server.pid);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

const warnings: string[] = [];

function openSink() {
  return serviceSink({
    service: 'mlflow',
    args: { uri },
    env: {},
    project: 'calculator',
    name: 'first',
    group: 'tests',
    config: { model: { model_path: 'x'.repeat(2000) }, 'odd key §': 1 },
    directory: folder,
    clock: systemClock,
    logger: { info: () => undefined, warn: (line) => void warnings.push(line) },
    batchMs: 1,
  });
}

async function session(steps: readonly number[]): Promise<void> {
  const sink = openSink();
  await sink.open();
  const file = jsonlSink({ path: path.join(folder, 'metrics.jsonl') });
  for (const step of steps) {
    const metrics = { 'rollout/reward/mean': step / 10, 'eval/set/mean@4': step };
    const record = { role: 'explorer', step, metrics } as const;
    file.write(record);
    sink.write(record);
  }
  const row = { step: 1, reward: 1, prompt_text: 'p', response_text: 'r' };
  appendFileSync(path.join(folder, 'rollouts.jsonl'), `${JSON.stringify(row)}\n`);
  await file.close();
  await sink.close();
}

async function get(api: string): Promise<Readonly<Record<string, unknown>>> {
  return (await (await fetch(`${uri}/api/2.0/${api}`)).json()) as Readonly<Record<string, unknown>>;
}

describe('a real MLflow server', { tags: ['external'], timeout: deadlineMs }, () => {
  it('has one finished run with every value once, the parameters and the table', async (context: TestContext) => {
    if (server === undefined) return context.skip(`no Python with ${requirement}`);
    await session([1, 2]);
    await session([3]);
    // A busy machine makes a new server's first answers slow, which the sink logs.
    expect(warnings.filter((line) => !/^Wait(ing|ed) /.test(line))).toEqual([]);
    const named = await get('mlflow/experiments/get-by-name?experiment_name=calculator');
    const experiment_ids = [(named['experiment'] as { experiment_id: string }).experiment_id];
    const body = JSON.stringify({ experiment_ids });
    const headers = { 'content-type': 'application/json' };
    const search = { method: 'POST', headers, body };
    const answer = await fetch(`${uri}/api/2.0/mlflow/runs/search`, search);
    const { runs } = (await answer.json()) as { readonly runs: readonly FoundRun[] };
    expect(runs.map(({ info }) => [info.run_name, info.status])).toEqual([['first', 'FINISHED']]);
    const id = runs[0]?.info.run_id ?? '';
    expect(runs[0]?.data.params.map(({ key }) => key).toSorted()).toEqual([
      'model.model_path',
      'odd key _',
    ]);
    for (const [key, values] of [
      ['rollout/reward/mean', [0.1, 0.2, 0.3]],
      ['eval/set/mean_at_4', [1, 2, 3]],
    ] as const) {
      const query = `run_id=${id}&metric_key=${encodeURIComponent(key)}`;
      const { metrics } = await get(`mlflow/metrics/get-history?${query}`);
      expect((metrics as readonly { value: number }[]).map(({ value }) => value)).toEqual(values);
    }
    const listed = await get(`mlflow/artifacts/list?run_id=${id}`);
    expect(JSON.stringify(listed)).toContain('rollout_examples.json');
  });

  it('finds a run again by the id under which it was started', async (context: TestContext) => {
    if (server === undefined) return context.skip(`no Python with ${requirement}`);
    const run = mlflowRun({ uri, project: 'late', name: 'one', tags: {}, params: { seed: '7' } });
    const { signal } = new AbortController();
    const started = await run.open({ id: '0af7651916cd43dd8448', url: '' }, signal);
    expect((await run.open({ id: '0af7651916cd43dd8448', url: '' }, signal)).id).toBe(started.id);
    expect((await run.open({ id: 'b7ad6b7169203331aaaa', url: '' }, signal)).id).not.toBe(
      started.id,
    );
  });
});

interface FoundRun {
  readonly info: { readonly run_id: string; readonly run_name: string; readonly status: string };
  readonly data: { readonly params: readonly { readonly key: string }[] };
}
