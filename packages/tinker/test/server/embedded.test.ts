/** Adapters on the embedded engine, trained over HTTP. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as WebStream } from 'node:stream/web';
import { createModelFolder, onnxEngine } from '@trinity-rft/engine-onnx';
import { paths } from '../../src/protocol/index.js';
import { extract } from 'tar';
import { expect, it, onTestFinished } from 'vitest';
import type { TinkerModel } from '../../src/server/index.js';
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
  const scored = await sample(url, {
    sampling_session_id: saved['sampling_session_id'],
    prompt: prompt(1, 5, 2, 7),
    prompt_logprobs: true,
    topk_prompt_logprobs: 20,
    topk_sample_logprobs: 2,
    sampling_params: { max_tokens: 1, temperature: 0, seed: 1 },
  });
  const { promptLogprobs, topPromptLogprobs, sequences } = scored;
  expect(promptLogprobs).toHaveLength(4);
  expect(topPromptLogprobs?.map((top) => top?.length)).toEqual([undefined, 20, 20, 20]);
  for (const [i, expected] of (outputs[0]?.['logprobs'] ?? []).entries()) {
    expect(promptLogprobs?.[i + 1]).toBeCloseTo(expected, 5);
    const found = topPromptLogprobs?.[i + 1]?.find(({ token }) => token === [5, 2, 7][i]);
    expect(found?.logprob).toBeCloseTo(expected, 4);
  }
  expect(sequences[0]?.topLogprobs).toHaveLength(1);
  expect(sequences[0]?.topLogprobs?.[0]?.[0]?.token).toBe(sequences[0]?.tokens[0]);
  await model.call('save_weights_for_sampler', { path: 'adapter' });
  const headers = { 'x-api-key': apiKey };
  const place = `${url}/api/v1/training_runs/${model.id}/checkpoints`;
  for (const id of ['sampler_weights/adapter', 'adapter']) {
    const redirect = await fetch(`${place}/${id}/archive`, { headers, redirect: 'manual' });
    const address = redirect.headers.get('location') ?? '';
    expect(redirect.headers.get('expires')).toBe('Thu, 01 Jan 1970 02:00:00 GMT');
    const unpacked = mkdtempSync(path.join(modelPath, 'adapter-'));
    // Downloads without the key, as clients do.
    const { status, body } = await fetch(address);
    expect(status).toBe(200);
    await pipeline(Readable.fromWeb(body as WebStream), extract({ cwd: unpacked }));
    expect(readdirSync(unpacked).toSorted()).toEqual([
      'adapter_config.json',
      'adapter_model.safetensors',
      'checkpoint_complete',
    ]);
    const engine = await onnxEngine.open({ modelPath, lora: { path: unpacked }, threads: 1 });
    const row = { tokens: Int32Array.of(1, 5, 2, 7), promptLength: 1, temperature: 1 };
    expect((await engine.trainer.forward({ rows: [row] })).logprobs).toEqual(
      outputs[0]?.['logprobs'],
    );
    await engine.close();
    for (const forged of [
      address.replace('expires=7', 'expires=8'),
      `${address}x`,
      `${place}/${id}/archive`,
    ])
      expect((await fetch(forged)).status).toBe(401);
  }

  const final = url + paths.checkpoint(model.id, 'sampler_weights/adapter');
  for (const status of [204, 404])
    expect((await fetch(final, { method: 'DELETE', headers })).status).toBe(status);

  const wrong = model.pass({ data: [datum([1, 99], { weights: [1] })] });
  await expect(wrong).rejects.toThrow(/token id 99; expected ids from 0 to 39/);

  const { path: uri } = await model.call('save_weights', { path: 'mlp' });
  const asked = { session_id: session, base_model: 'tiny', lora_config: { rank: 4 } };
  const all = await resultOf(url, await post(url, 'create_model', { ...asked, model_seq_id: 1 }));
  const id = String(all.body['model_id']);
  await expect(modelOf(url, session, id).call('load_weights', { path: uri })).rejects.toThrow(
    `${String(uri)} has adapters of rank 4, gate_proj, up_proj, down_proj, but ${id} has rank 4, all-linear. Send load_weights with a session_id and without model_id`,
  );
  const load = { session_id: session, path: uri };
  const loaded = await resultOf(url, await post(url, 'load_weights', load));
  const again = await modelOf(url, session, String(loaded.body['model_id'])).pass({
    data,
    forwardOnly: true,
  });
  expect(again.outputs[0]?.['logprobs']).toEqual(outputs[0]?.['logprobs']);
});
