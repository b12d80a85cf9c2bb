/**
 * Recorded answers of vLLM 0.32: the sampler can read them, and the tests' stand-in answers in the same
 * shape.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { gatherChoices, readChoices, readScores, samplingParams } from '../src/wire/generate.js';
import { startServer } from './support.js';

interface Exchange {
  readonly name: string;
  readonly request: { readonly method: string; readonly path: string; readonly body?: Body };
  readonly status: number;
  readonly response: unknown;
}

interface Body {
  readonly token_ids?: readonly number[];
  readonly sampling_params?: { readonly n?: number; readonly max_tokens?: number };
}

const file = new URL('fixtures/vllm-0.32.json', import.meta.url);
const exchanges = JSON.parse(readFileSync(file, 'utf8')) as readonly Exchange[];
const path = '/inference/v1/generate';
const generated = exchanges.filter(
  ({ request, status }) => request.path === path && status === 200,
);
const url = 'http://127.0.0.1:1';

describe('recorded answers', () => {
  it.each(generated.map((one) => [one.name, one] as const))('%s', (_, { request, response }) => {
    const { n, max_tokens: maxTokens = 0 } = request.body?.sampling_params ?? {};
    const expected = { url, options: { n, maxTokens, seed: 1 }, vocabSize: 320 };
    const { choices } = response as { choices: { token_ids: number[] }[] };
    expect(readChoices(response, expected).map(({ tokens }) => [...tokens])).toEqual(
      choices.map((one) => one.token_ids),
    );
  });

  it('may come in parts without the versions of weights', () => {
    const tokens: number[][] = [];
    const gathered = gatherChoices(url, (_, fresh) => void tokens.push([...fresh]));
    gathered.onEvent({ choices: [{ index: 0, token_ids: [1] }] });
    gathered.onEvent({ choices: [{ index: 0, token_ids: [2], finish_reason: 'length' }] });
    expect(tokens).toEqual([[1], [2]]);
    expect(gathered.answer()).toMatchObject({ choices: [{ token_ids: [1, 2] }] });
  });

  it('hold the log-probabilities of a text', () => {
    const { response } = generated.find(({ name }) => name === 'generate')!;
    const tokens = Int32Array.of(72, 101);
    expect(readScores(response, { tokens, promptLength: 1, url }).logprobs[0]).toBeCloseTo(
      -8.558963,
      5,
    );
    const other = Int32Array.of(72, 102);
    expect(() => readScores(response, { tokens: other, promptLength: 1, url })).toThrow(
      'none for token 1',
    );
  });

  it('have the shape of those of the stand-in', async () => {
    const server = await startServer();
    const known = new Set(['/pause?mode=keep', '/collective_rpc', '/v1/models', '/resume']);
    for (const { request, status, response } of exchanges) {
      if (status !== 200 || !(known.has(request.path) || request.path === path)) continue;
      if (request.path === '/collective_rpc') continue;
      const body = request.body && { ...request.body, model: 'tiny', token_ids: [1, 2] };
      const answer = await fetch(`${server.url}${request.path}`, {
        method: request.method,
        body: body && JSON.stringify(body),
      });
      expect(answer.status).toBe(status);
      expect(shapeOf(response)).toMatchObject(shapeOf(await answer.json()) as object);
    }
  });
});

/**
 * Replaces values by their types and lists by their last entry, and omits keys that depend on the
 * text.
 */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length > 0 ? [shapeOf(value.at(-1))] : [];
  if (typeof value !== 'object' || value === null) return typeof value;
  const entries = Object.entries(value).filter(([key]) => !varying.has(key) && !/^\d+$/.test(key));
  return Object.fromEntries(entries.map(([key, each]) => [key, shapeOf(each)]));
}

const varying = new Set(['usage', 'stop_reason', 'permission']);

it('every sampling option has a parameter, and only the given ids stop', () => {
  expect(samplingParams({ maxTokens: 5, seed: 4294967295, n: 2, stopTokenIds: [7] })).toEqual({
    n: 2,
    temperature: 1,
    top_p: 1,
    top_k: -1,
    max_tokens: 5,
    min_tokens: 0,
    stop_token_ids: [7],
    stop: [],
    ignore_eos: true,
    seed: 4294967295,
    logprobs: 0,
  });
});
