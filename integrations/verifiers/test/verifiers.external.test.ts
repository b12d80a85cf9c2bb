/** A real environment server runs the agent of a taskset, while our endpoint samples and records. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { servedRollouts } from '@trinity-rft/model/testing';
import { scriptedSampler } from '@trinity-rft/testing';
import { findPython, freePort } from '@trinity-rft/test-support';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { runRollout } from '../src/index.js';

const folder = fileURLToPath(new URL('.', import.meta.url));
const served = await servedRollouts();
const { signal } = new AbortController();
let server: ChildProcess | undefined;
let address = '';
let rows: readonly Readonly<Record<string, unknown>>[] = [];

beforeAll(async () => {
  const python = await findPython(['verifiers==0.4.0']);
  if ('missing' in python) return;
  address = `tcp://127.0.0.1:${await freePort()}`;
  const env = { ...process.env, PYTHONPATH: folder };
  server = spawn(python.program, [`${folder}sums_v1.py`, address], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (server.stdout === null) throw new Error('unreachable');
  const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
  rows = JSON.parse(line) as typeof rows;
}, 1_200_000);

afterAll(async () => {
  server?.kill('SIGTERM');
  await served.close();
});

describe('verifiers', { tags: ['external'], timeout: 300_000 }, () => {
  const play = async (context: TestContext, row: number, says: string) => {
    if (server === undefined) return context.skip('no Python with verifiers');
    const sampler = scriptedSampler({ script: () => served.encode(`${says}<|im_end|>`) });
    const rollout = await served.open({ sampler, signal });
    const { baseURL, apiKey } = rollout.endpoint;
    const request = { taskData: rows[row] ?? {}, baseURL, apiKey, model: 'tiny', sampling: {} };
    const options = { address, startMs: 120_000, timeoutMs: 120_000, signal };
    return { verdict: await runRollout(request, options), records: rollout.records() };
  };

  it('right and wrong answers are scored, and recorded with their tokens', async (context) => {
    const { verdict, records } = await play(context, 1, '5');
    expect(verdict).toEqual({ reward: 1.5, scores: { right: 1, short: 1 } });
    expect(records).toHaveLength(1);
    expect(served.decode(records[0]?.tokens ?? new Int32Array())).toContain('2+3=');
    const wrong = await play(context, 0, '3');
    expect(wrong.verdict).toMatchObject({ reward: 0.5 });
  });

  it('a grader that raises gives no reward', async (context) => {
    await expect(play(context, 2, '0')).rejects.toMatchObject({
      code: 'ENVIRONMENT_SERVER',
      message: /the grader broke/,
    });
  });
});
