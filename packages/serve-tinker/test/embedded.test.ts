/** Adapters on the embedded engine, trained over HTTP. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createModelFolder, onnxEngine } from '@trinity-rft/engine-onnx';
import { paths } from '@trinity-rft/tinker-protocol';
import { list } from 'tar';
import { expect, it, onTestFinished } from 'vitest';
import type { TinkerModel } from '../src/index.js';
import {
  apiKey,
  createSession,
  datum,
  modelOf,
  post,
  prompt,
  resultOf,
  sample,
  startServer,
} from './client.js';

const shape = { vocabSize: 40, hiddenSize: 32, layers: 1, heads: 2, kvHeads: 1, headDim: 16 };

it('trains adapters of the parts that are named, and samples with them', async () => {
  const modelPath = mkdtempSync(path.join(tmpdir(), 'trinity-tinker-model-'));
  onTestFinished(() => rmSync(modelPath, { recursive: true, force: true }));
  const config = { ...shape, maxPositions: 32, eosTokenIds: [0] };
  await createModelFolder({ directory: modelPath, seed: 1, config });
  const open: TinkerModel['open'] = (chosen) =>
    onnxEngine.open({ ...chosen, modelPath, threads: 1 });
  const { url } = await startServer({ model: { name: 'tiny', maxModelLen: 32, open } });
  const session = await createSession(url);
  const created = await resultOf(
    url,
    await post(url, 'create_model', {
      session_id: session,
      model_seq_id: 0,
      base_model: 'tiny',
      lora_config: { rank: 4, seed: 1, train_attn: false, train_mlp: true, train_unembed: true },
    }),
  );
  expect(created.body).toMatchObject({
    is_lora: true,
    lora_config: { rank: 4, train_attn: false, train_mlp: true, train_unembed: false },
  });
  const model = modelOf(url, session, String(created.body['model_id']));
  const data = [datum([1, 5, 2, 7], { weights: [1, 1, 1] })];
  const losses: number[] = [];
  for (let step = 0; step < 10; step++) {
    losses.push((await model.pass({ data })).metrics['loss:sum'] ?? NaN);
    await model.call('optim_step', { adam_params: { learning_rate: 0.01, eps: 1e-8 } });
  }
  expect(losses.at(-1)).toBeLessThan(0.9 * (losses[0] ?? 0));

  const { outputs } = await model.pass({ data, forwardOnly: true });
  const saved = await model.call('save_weights_for_sampler', { sampling_session_seq_id: 0 });
  const { promptLogprobs } = await sample(url, {
    sampling_session_id: saved['sampling_session_id'],
    prompt: prompt(1, 5, 2, 7),
    prompt_logprobs: true,
    sampling_params: { max_tokens: 1, seed: 1 },
  });
  for (const [i, expected] of (outputs[0]?.['logprobs'] ?? []).entries())
    expect(promptLogprobs?.[i]).toBeCloseTo(expected, 5);

  const { path: address } = await model.call('save_weights_for_sampler', { path: 'final' });
  const [, run = ''] = /^tinker:\/\/(.+)\/sampler_weights\/final$/.exec(String(address)) ?? [];
  const headers = { 'x-api-key': apiKey };
  const archive = url + paths.archive(run, 'final');
  const sent = await fetch(archive, { headers, redirect: 'manual' });
  const download = sent.headers.get('location') ?? '';
  const answer = await fetch(download);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const names: string[] = [];
  await pipeline(
    Readable.from([bytes]),
    list({ onReadEntry: (entry) => void names.push(entry.path) }),
  );
  expect(names).toEqual(['adapter_config.json', 'adapter_model.safetensors']);
  for (const other of [archive, download.replace('final', 'other'), download.replace(/=./, '=_')])
    expect((await fetch(other)).status).toBe(401);
  const final = `${url}${paths.checkpoint(run, 'sampler_weights/final')}`;
  for (const status of [204, 404])
    expect((await fetch(final, { method: 'DELETE', headers })).status).toBe(status);

  const wrong = model.pass({ data: [datum([1, 99], { weights: [1] })] });
  await expect(wrong).rejects.toThrow(/token id 99; expected ids from 0 to 39/);
});
