/** Tests the client with a stand-in for the environment server. */
import { decode, encode } from '@msgpack/msgpack';
import type { EnvironmentError } from '@trinity-rft/core';
import { expect, it, onTestFinished } from 'vitest';
import { Router } from 'zeromq';
import { runRollout } from '../src/index.js';

type Message = readonly [kind: string, data: unknown];

const trace = 't1';
const scored = (rewards: object, ok = true): Message => ['delta', { trace, set: { rewards, ok } }];
const ended = (head: object = { ok: true, errors: [] }): Message => [
  'reply',
  { success: true, error: null, head, traces: [{ id: trace, nodes: 2, calls: 1 }] },
];
const right = scored({ right: { score: 1, weight: 1 }, short: { score: 1, weight: 0.5 } });

/**
 * Starts a server that answers every `run` with these messages. @returns its address, and the requests
 * that it received
 */
async function standIn(messages: readonly Message[]) {
  const router = new Router({ linger: 0 });
  await router.bind('tcp://127.0.0.1:*');
  onTestFinished(() => router.close());
  const requests: (readonly [method: string, payload: unknown])[] = [];
  const answer = async (): Promise<void> => {
    for await (const [client, id, method, payload] of router) {
      const name = String(method);
      requests.push([name, decode(payload ?? new Uint8Array())]);
      const answers = name === 'run' ? messages : ([['reply', { success: true }]] as const);
      for (const [kind, data] of answers)
        await router.send([client ?? '', id ?? '', kind, encode(data)]);
    }
  };
  answer().catch((error: unknown) => {
    if (!router.closed) throw error;
  });
  return { address: router.lastEndpoint ?? '', requests };
}

const request = {
  taskData: { prompt: '1+1=' },
  baseURL: 'http://127.0.0.1:1/r/x/v1',
  apiKey: 'rk_1',
  model: 'tiny',
  sampling: { max_tokens: 8 },
};
const { signal } = new AbortController();
const rollout = (address: string, more: object = {}) =>
  runRollout(request, { address, startMs: 20_000, timeoutMs: 20_000, signal, ...more });

it('sends the task, the address and the key, and adds up the scores', async () => {
  const open: Message = ['delta', { trace, open: { id: trace } }];
  const pending = scored({ right: null, short: null }, false);
  const { address, requests } = await standIn([open, pending, right, ended()]);
  const verdict = await rollout(address);
  expect(verdict).toEqual({ reward: 1.5, scores: { right: 1, short: 1 } });
  expect(requests).toMatchObject([
    ['health', {}],
    [
      'run',
      {
        task_data: { prompt: '1+1=' },
        client: { base_url: request.baseURL, headers: { 'X-Rollout-Key': 'rk_1' } },
        sampling: { max_tokens: 8 },
      },
    ],
  ]);
});

const failed: Message = ['reply', { success: false, error: 'ValidationError: no answer' }];
const problem = { type: 'TaskError', message: 'task Sums scoring: KeyError: the grader broke' };
const faults: Readonly<Record<string, [RegExp, readonly Message[]]>> = {
  'the request fails': [/ValidationError: no answer/, [failed]],
  'the grader raises, and success stays true': [
    /TaskError: task Sums scoring: KeyError: the grader broke/,
    [scored({ right: null }, false), ended({ ok: false, errors: [problem] })],
  ],
  'the grader of an agent raises': [
    /TaskError: task Sums scoring: KeyError: the grader broke/,
    [
      scored({ right: null }, false),
      ['delta', { trace, errors: [problem] }],
      ended({ ok: false, errors: [] }),
    ],
  ],
  'the setup of a task fails': [
    /TaskError: task setup timed out/,
    [ended({ ok: false, errors: [{ type: 'TaskError', message: 'task setup timed out' }] })],
  ],
  'a score is missing': [/without the reward "right"/, [scored({ right: null }), ended()]],
  'there are no scores': [/without a reward/, [scored({}), ended()]],
  'the deltas of a trace are lost': [/it is not ok/, [ended()]],
  'an answer is none': [/no answer of an environment server/, [['reply', 7]]],
};

it.each(Object.keys(faults))('breaks the environment, not the reward, when %s', async (fault) => {
  const [message, messages] = faults[fault] ?? [];
  const { address } = await standIn(messages ?? []);
  const error: unknown = await rollout(address).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'EnvironmentError', message });
  const details = /grader|score/.test(fault) ? { action: 'grade' } : {};
  expect((error as EnvironmentError).details).toEqual(details);
});

it('stops waiting at deadlines and with the run, and tells the server', async () => {
  const { address, requests } = await standIn([]);
  await expect(rollout(address, { timeoutMs: 100 })).rejects.toMatchObject({
    code: 'ENVIRONMENT_DEADLINE',
  });
  const run = new AbortController();
  const stopped = rollout(address, { signal: run.signal });
  await expect.poll(() => requests.filter(([method]) => method === 'run')).toHaveLength(2);
  run.abort();
  await expect(stopped).rejects.toMatchObject({ reason: 'aborted' });
  await expect
    .poll(() => requests.filter(([method]) => method === 'cancel').map(([, data]) => data))
    .toEqual([{ request_id: 'run-2' }, { request_id: 'run-2' }]);
  await expect(rollout('tcp://127.0.0.1:9', { startMs: 200 })).rejects.toMatchObject({
    code: 'ENVIRONMENT_UNREACHABLE',
  });
});
