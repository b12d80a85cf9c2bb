import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock, type Clock } from '@trinity-rft/core';
import { manualClock } from '@trinity-rft/testing';
import { readTaskRows } from '../src/index.js';
import { hubRevision, startHub } from './hub-server.js';

const id = 'owner/sums';
const files = {
  'README.md':
    '---\nconfigs:\n- config_name: main\n  data_files:\n  - {split: train, path: main/train-*}\n  - {split: test, path: main/test-*}\n---\n',
  'main/train-00000-of-00002.jsonl': '{"n": 0}\n{"n": 1}\n',
  'main/train-00001-of-00002.jsonl': '{"n": 2}\n',
  'main/test-00000-of-00001.jsonl': '{"n": 9}\n',
  '../../escape.jsonl': '{"n": "outside"}\n',
};

let cache: string;
let lines: string[];
beforeEach(() => {
  lines = [];
  cache = mkdtempSync(join(tmpdir(), 'trinity-hub-'));
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));

async function openHub(...args: Parameters<typeof startHub> | []) {
  const hub = await (args.length > 0
    ? startHub(...(args as Parameters<typeof startHub>))
    : startHub(id, files));
  onTestFinished(() => hub.close());
  return hub;
}

const read = async (url: string, options: Partial<Parameters<typeof readTaskRows>[0]> = {}) => {
  const rows = await readTaskRows({
    name: 'sums',
    path: id,
    cacheDirectory: cache,
    report: (line) => lines.push(line),
    ...options,
    environment: { HF_ENDPOINT: url, ...options.environment },
  });
  return rows.map((row) => row['n']);
};

/** Clock that runs at fifty times the real speed. */
const fastClock: Clock = {
  now: () => 50 * systemClock.now(),
  after: (ms, callback) => systemClock.after(ms / 50, callback),
  sleep: (ms, signal) => systemClock.sleep(ms / 50, signal),
};

/** Address of a stopped server, which refuses connections. */
let nowhere: string;
beforeAll(async () => {
  const gone = await startHub(id, {});
  nowhere = gone.url;
  await gone.close();
});

describe('a dataset of the hub', () => {
  it('is fetched as far as the split needs it, and from then on read from the cache without the network', async () => {
    const hub = await openHub();
    expect(await read(hub.url)).toEqual([0, 1, 2]);
    expect(hub.requests.some((path) => path.includes('test-'))).toBe(false);
    const place = join(cache, 'datasets--owner--sums/snapshots', hubRevision);
    expect(lines).toEqual([
      `Fetching owner/sums from ${hub.url} to ${place}.`,
      '  README.md: 127 B of 127 B (100 %)',
      '  27 B in 2 files',
      '  main/train-00000-of-00002.jsonl: 18 B of 18 B (100 %)',
      '  main/train-00001-of-00002.jsonl: 9 B of 9 B (100 %)',
    ]);
    lines = [];
    expect(await read(nowhere)).toEqual([0, 1, 2]);
    expect(lines).toEqual([]);
    expect(await read(hub.url, { split: 'test' })).toEqual([9]);
    expect(
      await read(nowhere, { split: 'train+test', environment: { HF_HUB_OFFLINE: '1' } }),
    ).toEqual([0, 1, 2, 9]);
    expect(readdirSync(cache)).toEqual(['.locks', 'datasets--owner--sums']);
  });

  it('says from the cache which splits there are', async () => {
    const hub = await openHub();
    await read(hub.url);
    await expect(read(nowhere, { split: 'dev' })).rejects.toThrow(
      /owner\/sums: it has no split "validation". Expected one of: test, train/,
    );
  });

  it('is found where Python has put it', async () => {
    const folder = join(cache, 'datasets--owner--sums');
    for (const name of ['refs', 'blobs', `snapshots/${hubRevision}/main`])
      mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, 'refs/main'), hubRevision);
    writeFileSync(join(folder, 'blobs/abc'), '{"n": 5}\n');
    symlinkSync(
      '../../../blobs/abc',
      join(folder, `snapshots/${hubRevision}/main/train-00000-of-00001.jsonl`),
    );
    expect(await read(nowhere)).toEqual([5]);
    expect(
      await read(nowhere, {
        cacheDirectory: undefined as never,
        environment: { HF_HUB_CACHE: cache },
      }),
    ).toEqual([5]);
  });

  it('is asked for with the token, which appears in no error', async () => {
    const hub = await openHub();
    const token = 'hf_secretsecret';
    await read(hub.url, { environment: { HF_TOKEN: token } });
    expect([...hub.authorizations]).toEqual([`Bearer ${token}`]);
    const error: unknown = await read(hub.url, {
      path: 'owner/other',
      environment: { HF_TOKEN: token },
    }).catch((thrown: unknown) => thrown);
    expect(String(error)).toMatch(/private or gated.*HF_TOKEN.*\(now set\)/);
    const blank = { path: 'owner/other', environment: { HF_TOKEN: ' ' } };
    await expect(read(hub.url, blank)).rejects.toThrow(/HF_TOKEN.*\(now not set\)/);
    expect(
      JSON.stringify([
        error,
        String(error),
        (error as Error).stack,
        String((error as Error).cause),
      ]),
    ).not.toContain(token);
  });
});

describe('a dataset that cannot be fetched', () => {
  it('names a token of two lines by its variable, and does not print it', async () => {
    const hub = await openHub();
    const environment = { HF_TOKEN: 'hf_secret\nsecret' };
    const error: unknown = await read(hub.url, { environment }).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain('HF_TOKEN contains white space');
    expect(JSON.stringify([error, (error as Error).stack])).not.toContain('secret');
    expect([...hub.authorizations]).toEqual([]);
    await read(hub.url, { environment: { HF_TOKEN: ' hf_token\r\n' } });
    expect([...hub.authorizations]).toEqual(['Bearer hf_token']);
  });

  it('is an error that names the id, the cache and the way out', async () => {
    const error: unknown = await read(nowhere).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'TaskError', code: 'TASKSET_UNREACHABLE' });
    const { message } = error as Error;
    for (const part of [
      'owner/sums is not a local file or folder',
      join(cache, 'datasets--owner--sums'),
      'ECONNREFUSED',
      'give the folder as the path',
    ])
      expect(message).toContain(part);
    await expect(read(nowhere, { environment: { HF_HUB_OFFLINE: '1' } })).rejects.toThrow(
      /HF_HUB_OFFLINE is set/,
    );
  });

  it('is given up when the network falls silent, and leaves no half file behind', async () => {
    const hub = await openHub(id, files, (path, response) => {
      if (!path.endsWith('train-00001-of-00002.jsonl')) return false;
      response.writeHead(200, { 'content-length': '9' }).write('{"n"');
      return true;
    });
    const clock = manualClock();
    let isOver = false;
    const reading = read(hub.url, { clock, stallMs: 300 })
      .then(() => 'rows', String)
      .finally(() => (isOver = true));
    const snapshot = join(cache, 'datasets--owner--sums/snapshots', hubRevision, 'main');
    await expect.poll(() => existsSync(join(snapshot, 'train-00000-of-00002.jsonl'))).toBe(true);
    while (!isOver) await clock.advance(300);
    expect(await reading).toMatch(/Nothing came from 127.0.0.1:\d+ for 0.3 s/);
    expect(existsSync(join(snapshot, 'train-00001-of-00002.jsonl'))).toBe(false);
    expect(await read((await openHub()).url)).toEqual([0, 1, 2]);
  });

  it('says that it waits for a hub that is silent', async () => {
    const hub = await openHub(id, files, () => true);
    await expect(read(hub.url, { clock: fastClock, stallMs: 12_000 })).rejects.toThrow(
      /Nothing came from .* for 12 s/,
    );
    expect(lines[0]).toMatch(/^Waiting for http:\/\/127.0.0.1:\d+ \(\d+ s until now\)\.$/);
  });

  it('says that another process fetches it, and gives up when that one brings nothing', async () => {
    const hub = await openHub();
    const locks = join(cache, '.locks/datasets--owner--sums');
    mkdirSync(locks, { recursive: true });
    const holder = new DatabaseSync(join(locks, 'dataset.trinity-rft'));
    holder.exec('BEGIN EXCLUSIVE');
    await expect(read(hub.url, { clock: fastClock, stallMs: 1000 })).rejects.toThrow(
      'Another process fetches owner/sums into',
    );
    expect(lines[0]).toMatch(/^Waiting for another process that fetches owner\/sums \(\d+ s/);
    lines = [];
    const reading = read(hub.url, { clock: fastClock, stallMs: 3_600_000 });
    await expect.poll(() => lines.length).toBeGreaterThan(0);
    holder.close();
    expect(await reading).toEqual([0, 1, 2]);
    expect(lines.join()).toMatch(/Waited \d+ s for another process .*; the wait is over/);
  });

  it('is given up when a file ends too early, again and again', async () => {
    const hub = await openHub(id, files, (path, response) => {
      if (!path.endsWith('train-00001-of-00002.jsonl')) return false;
      response.end('{"n"');
      return true;
    });
    await expect(read(hub.url)).rejects.toThrow(/arrived with 4 of 9 bytes/);
  });

  it('arrives although a connection breaks', async () => {
    let broken = 0;
    const hub = await openHub(id, files, (path, response) => {
      if (!path.endsWith('train-00001-of-00002.jsonl') || broken++ > 0) return false;
      response.writeHead(200, { 'content-length': '9' }).write('{"n"', () => response.destroy());
      return true;
    });
    expect(await read(hub.url)).toEqual([0, 1, 2]);
    expect(broken).toBe(2);
  });

  it('is refused where a file is not what the hub states', async () => {
    const hub = await openHub(id, files, (path, response) => {
      if (!path.endsWith('train-00001-of-00002.jsonl')) return false;
      response.end('{"n": 3}\n');
      return true;
    });
    await expect(read(hub.url)).rejects.toThrow('arrived with another digest (git)');
  });

  it('is given up when the caller cancels', async () => {
    const controller = new AbortController();
    const hub = await openHub(id, files, () => {
      controller.abort();
      return true;
    });
    await expect(read(hub.url, { signal: controller.signal })).rejects.toMatchObject({
      name: 'CancelledError',
      reason: 'aborted',
    });
  });
});
