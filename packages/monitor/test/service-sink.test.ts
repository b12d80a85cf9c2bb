import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { type MetricRecord, systemClock } from '@trinity-rft/core';
import { trackingKey, trackingServices, type TrackingServices } from '@trinity-rft/test-support';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { useFolder } from './folder.js';
import { jsonlSink } from '../src/jsonl-sink.js';
import type { ResumePoint } from '../src/resume-point.js';
import { serviceSink, type ServiceSinkOptions } from '../src/services/service-sink.js';
import { swanlabRun } from '../src/services/swanlab.js';
import { serviceNames, type ServiceName } from '../src/services/service.js';

const folder = useFolder();
let server: TrackingServices;
let lines: string[] = [];

beforeEach(async () => {
  server = await trackingServices();
  lines = [];
});
afterEach(() => server.close());

const log = (message: string): void => void lines.push(message);

function open(service: ServiceName, more: Partial<ServiceSinkOptions> = {}) {
  mkdirSync(folder(), { recursive: true });
  const address = { wandb: 'base_url', mlflow: 'uri', swanlab: 'api_host' }[service];
  return serviceSink({
    service,
    args: { [address]: server.url },
    env: { WANDB_API_KEY: trackingKey, SWANLAB_API_KEY: trackingKey },
    project: 'calculator',
    name: 'run one',
    group: 'friday',
    config: { model: { model_path: 'tiny', api_key: '[redacted]' }, seed: 7 },
    directory: folder(),
    clock: systemClock,
    logger: { info: log, warn: log },
    batchMs: 1,
    closeMs: 60_000,
    ...more,
  });
}

function record(step: number, role: MetricRecord['role'] = 'explorer'): MetricRecord {
  const name = role === 'explorer' ? 'rollout/reward/mean' : 'actor/loss';
  return { role, step, metrics: { [name]: step / 10 } };
}

/** Writes each record to the file and then to the sink, as a run does. */
function write(sink: ReturnType<typeof open>, ...records: readonly MetricRecord[]): void {
  const file = jsonlSink({ path: folder('metrics.jsonl') });
  for (const each of records) {
    file.write(each);
    sink.write(each);
  }
  void file.close();
}

/** Values that the service shows, by metric and step, however it stores them. */
function shown(): readonly string[] {
  const fromLines = [...server.histories.values()].flat().flatMap((line) => {
    const { explore_step, train_step, ...rest } = JSON.parse(line) as Record<string, number>;
    const names = Object.keys(rest).filter((name) => !name.startsWith('_'));
    return names.map((name) => `${name} ${explore_step ?? train_step} ${rest[name]}`);
  });
  const fromPoints = [...server.points].map((point) => point.slice(point.indexOf(' ') + 1));
  return [...fromLines, ...fromPoints];
}

const reward = (step: number): string => `rollout/reward/mean ${step} ${step / 10}`;

describe.each(serviceNames)('%s', (service) => {
  it('gets every record of both roles once, the configuration, and the end of the run', async () => {
    const sink = open(service);
    await sink.open();
    write(sink, record(1), record(1, 'trainer'), record(2), record(2, 'trainer'));
    await sink.close();
    expect(shown()).toEqual([reward(1), 'actor/loss 1 0.1', reward(2), 'actor/loss 2 0.2']);
    const bodies = server.requests.map(({ body }) => body).join('\n');
    expect(bodies).toContain('run one');
    expect(bodies).toContain('[redacted]');
    expect([...server.states.values()]).toContain(
      { wandb: 'exit 0', mlflow: 'FINISHED', swanlab: 'FINISHED' }[service],
    );
    const kept = readFileSync(folder(`${service}.json`), 'utf8') + lines.join('\n');
    expect(kept).not.toContain(trackingKey);
  });

  it('continues the same run after a restart, with what was not sent and nothing twice', async () => {
    const first = open(service);
    await first.open();
    write(first, record(1));
    await first.close();
    server.fail({ status: 503 });
    const second = open(service, { closeMs: 50 });
    await second.open();
    write(second, record(2));
    await second.close();
    expect(lines.join('\n')).toContain('1 record was not sent');
    server.heal();
    const third = open(service);
    await third.open();
    write(third, record(3));
    await third.close();
    expect(shown()).toEqual([1, 2, 3].map(reward));
    expect(lines.filter((line) => line.includes('http')).length).toBeGreaterThan(0);
  });

  it('does not send the steps again that a resumed run repeats', async () => {
    const first = open(service);
    await first.open();
    write(first, record(1), record(2));
    await first.close();
    const file = jsonlSink({ path: folder('metrics.jsonl'), resume: { explorer: 1 } });
    await file.close();
    const resumed = open(service);
    await resumed.open();
    write(resumed, record(2), record(3));
    await resumed.close();
    expect(shown()).toEqual([1, 2, 3].map(reward));
    const values = /mean\\":0\.2|"(?:value|data)":0\.2/;
    expect(server.requests.filter(({ body }) => values.test(body))).toHaveLength(1);
  });

  it('sends the steps again that a resumed run repeats with other values, timing aside', async () => {
    const record = (step: number, ok: number): MetricRecord => ({
      role: 'explorer',
      step,
      metrics: { ok, 'time/step': Math.random() },
    });
    const process = async (resume: ResumePoint, records: readonly MetricRecord[]) => {
      await jsonlSink({ path: folder('metrics.jsonl'), resume }).close();
      const sink = open(service);
      await sink.open();
      write(sink, ...records);
      await sink.close();
    };
    await process({}, [record(1, 8), record(2, 8), record(3, 0), record(4, 0)]);
    await process({ explorer: 1 }, [record(2, 8), record(3, 7)]);
    await process({ explorer: 3 }, [record(4, 6), record(5, 8)]);
    await process({ explorer: 3 }, [record(4, 6), record(5, 8)]);
    const counts = shown().filter((line) => line.startsWith('ok'));
    expect(counts.toSorted()).toEqual(
      ['1 8', '2 8', '3 0', '3 7', '4 0', '4 6', '5 8'].map((line) => `ok ${line}`),
    );
  });

  it('waits as long as a busy service asks, and warns once', async () => {
    const sink = open(service);
    await sink.open();
    const before = server.requests.length;
    server.fail({ status: 429, headers: { 'retry-after': '1' } }, { status: 500 });
    write(sink, record(1));
    await expect.poll(() => server.requests.length).toBe(before + 1);
    write(sink, record(2));
    await expect.poll(() => server.requests.length).toBeGreaterThan(before + 1);
    const [first, second] = server.requests.slice(before);
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(990);
    server.heal();
    await expect.poll(() => shown()).toEqual([reward(1), reward(2)]);
    await sink.close();
    expect(lines.filter((line) => line.includes('The run continues'))).toHaveLength(1);
  });

  it('never holds up the run when it hangs, and gives up at the end', async () => {
    const sink = open(service, { closeMs: 100 });
    await sink.open();
    server.fail({ status: undefined });
    write(sink, ...Array.from({ length: 500 }, (_, i) => record(i + 1)));
    await sink.close();
    expect(lines.join('\n')).toContain('500 records were not sent');
  });

  it('starts no second run when the response to the first one was lost, also after a restart', async () => {
    const created = { wandb: 'graphql', mlflow: 'runs/create', swanlab: '/experiment' }[service];
    for (const at of [created, service === 'mlflow' ? 'log-batch' : created]) {
      server.fail({ status: 503, isLate: true, at });
      const first = open(service, { closeMs: 50 });
      await first.open();
      expect(lines.join('\n')).toContain('answered 503');
      await first.close();
    }
    server.heal();
    const second = open(service);
    await second.open();
    write(second, record(1));
    await second.close();
    expect(shown()).toEqual([reward(1)]);
    expect([...server.states.keys()].filter((id) => !id.includes(' '))).toHaveLength(1);
  });

  it('starts without a service that cannot be reached, and finds it later', async () => {
    const { port } = server;
    await server.close();
    const sink = open(service);
    await sink.open();
    write(sink, record(1));
    expect(lines.join('\n')).toContain('could not be reached');
    server = await trackingServices(port);
    await expect.poll(() => shown()).toEqual([reward(1)]);
    await sink.close();
  });
});

it('reads nothing until the run writes, because the files are trimmed before', async () => {
  const point = (step: number): MetricRecord => ({
    role: 'explorer',
    step,
    metrics: { loss: step, ...(step < 5 ? { accuracy: 0.123456789 } : {}) },
  });
  const written = jsonlSink({ path: folder('metrics.jsonl') });
  for (const step of [1, 2, 3, 4]) written.write(point(step));
  await written.close();
  server.fail({ status: 503 });
  const sink = open('mlflow');
  await sink.open();
  server.heal();
  await expect.poll(() => lines.join('\n')).toContain('takes records again');
  await jsonlSink({ path: folder('metrics.jsonl'), resume: { explorer: 2 } }).close();
  for (const step of [5, 6, 7]) write(sink, point(step));
  await sink.close();
  const losses = shown().filter((line) => line.startsWith('loss'));
  expect(losses).toEqual([1, 2, 5, 6, 7].map((step) => `loss ${step} ${step}`));
});

describe('a key', () => {
  it.each(['wandb', 'swanlab'] as const)(
    'of %s that is refused ends the start',
    async (service) => {
      const name = { wandb: 'WANDB_API_KEY', swanlab: 'SWANLAB_API_KEY' }[service];
      const sink = open(service, { env: { [name]: 'a-wrong-key-of-the-tests' } });
      await expect(sink.open()).rejects.toThrow(new RegExp(`answered 401.*Check ${name}`));
      await expect(sink.open()).rejects.not.toThrow(/a-wrong-key/);
    },
  );

  it('of MLflow that is refused ends the start', async () => {
    server.fail({ status: 401 });
    await expect(open('mlflow').open()).rejects.toThrow(/answered 401.*MLFLOW_TRACKING_USERNAME/);
  });

  it('that is missing is named', () => {
    expect(() => open('wandb', { env: {} })).toThrow(/Set WANDB_API_KEY in the environment/);
  });
});

describe('an address', () => {
  const keys = { WANDB_API_KEY: trackingKey, SWANLAB_API_KEY: trackingKey };

  it.each([
    ['mlflow', 'MLFLOW_TRACKING_URI', 'file:./mlruns'],
    ['mlflow', 'MLFLOW_TRACKING_URI', './mlruns'],
    ['mlflow', 'MLFLOW_TRACKING_URI', 'sqlite:///mlflow.db'],
    ['mlflow', 'MLFLOW_TRACKING_URI', 'file:///home/me@corp/mlruns'],
    ['mlflow', 'MLFLOW_TRACKING_URI', 'databricks'],
    ['mlflow', 'MLFLOW_TRACKING_URI', 'localhost:5000'],
    ['wandb', 'WANDB_BASE_URL', 'wandb.example.com'],
    ['swanlab', 'SWANLAB_API_HOST', 'swanlab.example.com'],
  ] as const)('of %s that cannot work is named: %s=%s', (service, name, value) => {
    expect(() => open(service, { args: {}, env: { ...keys, [name]: value } })).toThrow(
      `${name} is ${value}; expected an http or https address`,
    );
  });

  it('shows no password, also in the arguments', () => {
    for (const [service, uri] of [
      ['mlflow', 'postgresql://me:pass-word@host/db'],
      ['wandb', 'https://me:pass-word@host'],
      ['mlflow', 'http://me:pa/pass-word@host'],
      ['mlflow', 'postgresql://host/db?user=me&password=pass-word'],
    ] as const) {
      const args = { [service === 'wandb' ? 'base_url' : 'uri']: uri };
      expect(() => open(service, { args })).toThrow(/monitor\.monitor_args\.\w+ is \w+:\/\/host/);
      expect(() => open(service, { args })).not.toThrow(/pass-word/);
    }
  });

  it('of MLflow may have a user and a password, which other settings replace', async () => {
    const uri = server.url.replace('//', '//me:p%40ss-word@');
    const password = { MLFLOW_TRACKING_PASSWORD: 'other-word' };
    for (const [env, token] of [
      [{ MLFLOW_TRACKING_URI: uri, MLFLOW_TRACKING_TOKEN: '' }, basic('me:p@ss-word')],
      [{ MLFLOW_TRACKING_URI: uri.replace('%40', '%') }, basic('me:p%ss-word')],
      [{ MLFLOW_TRACKING_URI: uri, MLFLOW_TRACKING_USERNAME: 'you' }, basic('you:')],
      [
        { MLFLOW_TRACKING_URI: server.url.replace('//', '//me@'), ...password },
        basic('me:other-word'),
      ],
      [{ MLFLOW_TRACKING_URI: `${server.url} `, MLFLOW_TRACKING_USERNAME: 'you' }, basic('you:')],
    ] as const) {
      const sink = open('mlflow', { args: {}, env });
      await sink.open();
      await sink.close();
      expect(server.requests.at(-1)?.headers.authorization).toBe(token);
    }
    expect(readFileSync(folder('mlflow.json'), 'utf8') + lines.join()).not.toContain('ss-word');
  });

  it('that is empty is the usual one', () => {
    expect(() => open('wandb', { args: {}, env: { ...keys, WANDB_BASE_URL: '' } })).not.toThrow();
  });
});

const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`;

describe('Weights & Biases', () => {
  it('shows each metric over the steps of its role, and rollouts as a table', async () => {
    const preview = { step: 1, reward: 0.5, prompt_text: '1+1?', response_text: '2' };
    const sink = open('wandb');
    await sink.open();
    appendFileSync(folder('rollouts.jsonl'), `${JSON.stringify(preview)}\n`);
    write(sink, record(1), record(1, 'trainer'));
    await sink.close();
    const configs = server.requests.flatMap(({ path, body }) =>
      path === '/graphql' && body.includes('upsertBucket') ? [body] : [],
    );
    expect(configs.at(-1)).toContain('\\"1\\":\\"actor/loss\\",\\"5\\":3');
    const [file] = server.files.values();
    expect(JSON.parse(file ?? '')).toEqual({
      columns: ['step', 'reward', 'prompt', 'response'],
      data: [[1, 0.5, '1+1?', '2']],
    });
  });
});

describe('MLflow', () => {
  const artifacts = '/mlflow-artifacts/';
  const ended = (): unknown => [...server.states.values()].at(-1);
  const addPreview = (): void => appendFileSync(folder('rollouts.jsonl'), '{"step":1}\n');

  it('continues a run whose parameters were logged in part, also with other settings', async () => {
    server.fail({ status: 503, isLate: true, at: 'log-batch' });
    const first = open('mlflow', { closeMs: 50 });
    await first.open();
    await first.close();
    server.heal();
    expect(server.requests.filter(({ path }) => path.includes('runs/get'))).toEqual([]);
    const second = open('mlflow', { config: { seed: 8 } });
    await second.open();
    write(second, record(1));
    await second.close();
    expect(shown()).toEqual([reward(1)]);
  });

  it('ends a run whose table of rollouts cannot be shown, and says so once', async () => {
    const sink = open('mlflow');
    await sink.open();
    addPreview();
    server.fail({ status: 403, at: artifacts });
    write(sink, record(1));
    await sink.close();
    expect([ended(), shown()]).toEqual(['FINISHED', [reward(1)]]);
    const warnings = lines.filter((line) => line.includes('does not show the table of rollouts'));
    expect(warnings).toHaveLength(1);
  });

  it('shows the table that it did not take before', async () => {
    const sink = open('mlflow');
    await sink.open();
    addPreview();
    server.fail({ status: 503, at: artifacts });
    write(sink, record(1));
    await expect.poll(() => lines.join('\n')).toContain('answered 503');
    server.heal();
    write(sink, record(2));
    await sink.close();
    expect([...server.files.values()]).toEqual([expect.stringContaining('[[1,null,"",""]]')]);
    expect([ended(), shown()]).toEqual(['FINISHED', [reward(1), reward(2)]]);
  });

  it('ends a run although the table hangs, or records are not taken', async () => {
    for (const at of [artifacts, 'log-batch']) {
      server.heal();
      const sink = open('mlflow', { closeMs: 6000 });
      await sink.open();
      addPreview();
      server.fail({ status: at === artifacts ? undefined : 403, at });
      write(sink, record(server.requests.length));
      await sink.close();
      expect(ended()).toBe('FINISHED');
    }
  });

  // The run is ended in the second that the table leaves, in which a busy machine can pause.
  it(
    'ends an interrupted run within its shorter time, although the table hangs',
    { retry: 3 },
    async () => {
      const sink = open('mlflow', { closeMs: 20_000 });
      await sink.open();
      server.fail({ status: 503, at: 'log-batch' });
      write(sink, record(1));
      await expect.poll(() => lines.join('\n')).toContain('answered 503');
      addPreview();
      server.fail({ status: undefined, at: artifacts });
      sink.setOutcome('interrupted');
      await sink.close();
      expect(ended()).toBe('KILLED');
    },
  );
});

it('of Weights & Biases keeps what a continued run summed up before, and its time', async () => {
  for (const each of [record(1), record(1, 'trainer')]) {
    const sink = open('wandb');
    await sink.open();
    write(sink, each);
    await sink.close();
  }
  const [summary] = server.summaries.values();
  expect(JSON.parse(summary ?? '')).toMatchObject({
    'rollout/reward/mean': 0.1,
    'actor/loss': 0.1,
  });
});

describe('SwanLab', () => {
  it('hears of the run every ten minutes, also while records come, and in a session that ends', async () => {
    const run = swanlabRun({
      host: server.url,
      apiKey: trackingKey,
      project: 'p',
      name: 'n',
      group: '',
      tags: [],
      config: {},
    });
    const { signal } = new AbortController();
    const remote = await run.open({ id: 'id', url: '' }, signal);
    const heartbeats = () => server.requests.filter(({ path }) => path.endsWith('/heartbeat'));
    const send = (step: number): Promise<void> =>
      run.send(
        { records: [{ role: 'trainer', step, metrics: { loss: step }, time: 0 }], first: 0 },
        remote,
        signal,
      );
    await send(1);
    expect(heartbeats()).toHaveLength(1);
    const now = Date.now();
    const clock = vi.spyOn(Date, 'now').mockReturnValue(now + 600_000);
    server.endSessions();
    await send(2);
    clock.mockRestore();
    expect(heartbeats().map(({ body }) => body)).toEqual(Array(2).fill('{"flagId":"123456"}'));
    expect([...server.points]).toEqual(['id loss 1 1', 'id loss 2 2']);
    const series = server.requests.find(({ path }) => path.endsWith('/series'));
    expect(series?.body).toBe('{"series":[{"key":"loss","type":"FLOAT"}]}');
  });
});

it('gives each role a run of its own where that is asked for', async () => {
  const sink = open('mlflow', { ownRuns: ['explorer', 'trainer'] });
  await sink.open();
  write(sink, record(1), record(1, 'trainer'));
  await sink.close();
  expect(new Set([...server.points].map((point) => point.split(' ')[0])).size).toBe(2);
  const bodies = server.requests.map(({ body }) => body).join('\n');
  expect(bodies).toMatch(/run one_explorer[^]*run one_trainer/);
});
