/** Samples from the base model, from saved weights and from a model in training. */
import { describe, expect, it } from 'vitest';
import {
  createModel,
  createSession,
  datum,
  get,
  post,
  prompt,
  remove,
  resultOf,
  sample,
  startServer,
  type Model,
} from './client.js';

const greedy = { max_tokens: 3, temperature: 0, seed: 1 };
const adam = { learning_rate: 1, eps: 1e-8 };

/** Trains the model to continue with `token`, and to unlearn earlier tokens. */
async function teach(model: Model, token: number): Promise<void> {
  const data = [datum([1, token, token], { weights: [1, 1] })];
  for (let step = 0; step < 20; step++) {
    await model.pass({ data });
    await model.call('optim_step', { adam_params: adam });
  }
}

describe('a sampler', () => {
  it('keeps its weights while the model learns on, and others sample at the same time', async () => {
    const { url } = await startServer();
    const model = await createModel(url);
    await teach(model, 5);
    const named = await model.call('save_weights_for_sampler', { path: 'five' });
    const first = await model.call('save_weights_for_sampler', { sampling_session_seq_id: 0 });
    await teach(model, 9);
    const second = await model.call('save_weights_for_sampler', { sampling_session_seq_id: 1 });
    expect(named).toMatchObject({ path: `tinker://${model.id}/sampler_weights/five` });
    expect(first).toMatchObject({ path: null, sampling_session_id: `${model.session}:sample:0` });
    const from = async (weights: object) =>
      (await sample(url, { ...weights, prompt: prompt(1), sampling_params: greedy })).sequences;
    const places = [
      { model_path: named['path'] },
      { sampling_session_id: second['sampling_session_id'] },
      { sampling_session_id: first['sampling_session_id'] },
      { base_model: 'bigrams' },
    ];
    const samples = await Promise.all([...places, ...places].map(from));
    const tokens = samples.map(([sequence]) => [...(sequence?.tokens ?? [])]);
    expect(tokens.slice(0, 3)).toEqual([
      [5, 5, 5],
      [9, 9, 9],
      [5, 5, 5],
    ]);
    expect(tokens.slice(4)).toEqual(tokens.slice(0, 4));
    expect(tokens[3]).not.toEqual(tokens[0]);
    expect(samples[0]?.[0]?.stopReason).toBe('length');
  });

  it.each<readonly [string, (url: string, model: Model) => Promise<object>]>([
    [
      'named weights',
      async (_, model) => {
        const { path } = await model.call('save_weights_for_sampler', { path: 'latest' });
        return { model_path: path };
      },
    ],
    [
      'named weights that were deleted before',
      async (url, model) => {
        await remove(url, `training_runs/${model.id}/checkpoints/sampler_weights/latest`);
        const { path } = await model.call('save_weights_for_sampler', { path: 'latest' });
        return { model_path: path };
      },
    ],
    [
      'training weights',
      async (_, model) => {
        const body = { path: 'latest', overwrite: true };
        return { model_path: (await model.call('save_weights', body))['path'] };
      },
    ],
    [
      'a sampler whose number is used again',
      async (_, model) => {
        const body = { sampling_session_seq_id: 0 };
        const saved = await model.call('save_weights_for_sampler', body);
        return { sampling_session_id: saved['sampling_session_id'] };
      },
    ],
  ])('samples from the newest weights: %s', async (_, save) => {
    const { url } = await startServer();
    const model = await createModel(url);
    for (const token of [5, 9]) {
      await teach(model, token);
      const place = await save(url, model);
      const asked = { ...place, prompt: prompt(1), sampling_params: greedy };
      const [sequence] = (await sample(url, asked)).sequences;
      expect([...(sequence?.tokens ?? [])]).toEqual([token, token, token]);
    }
  });

  it('scores the prompt, stops where it is told to, and repeats itself by the seed', async () => {
    const { url } = await startServer();
    const model = await createModel(url);
    const text = [1, 5, 2, 7];
    const { outputs } = await model.pass({ data: [datum(text)], forwardOnly: true });
    const params = { max_tokens: 20, seed: 4, stop: [3] };
    const asked = { base_model: 'bigrams', prompt: prompt(...text), sampling_params: params };
    const answer = await sample(url, { ...asked, num_samples: 2, prompt_logprobs: true });
    expect(answer.promptLogprobs).toEqual(
      Float32Array.of(NaN, ...(outputs[0]?.['logprobs'] ?? [])),
    );
    expect(answer.sequences).toHaveLength(2);
    for (const { tokens, stopReason, logprobs } of answer.sequences) {
      expect(stopReason === 'stop').toBe(tokens.at(-1) === 3);
      expect(logprobs).toHaveLength(tokens.length);
    }
    expect(await sample(url, { ...asked, num_samples: 2, prompt_logprobs: true })).toEqual(answer);
    const whole = await post(url, 'asample', { ...asked, num_samples: 2 });
    expect(whole.body['sample_sequence_ids']).toHaveLength(2);
  });

  it('without an address is gone once two newer ones of its model are there, or the model is not', async () => {
    const { url } = await startServer();
    const model = await createModel(url);
    const ids: unknown[] = [];
    for (let number = 0; number < 3; number++) {
      const body = { sampling_session_seq_id: number };
      ids.push((await model.call('save_weights_for_sampler', body))['sampling_session_id']);
    }
    const asked = { prompt: prompt(1), sampling_params: greedy };
    const gone = await post(url, 'asample', { ...asked, sampling_session_id: ids[0] });
    expect(gone).toMatchObject({ status: 404 });
    for (const id of ids.slice(1)) await sample(url, { ...asked, sampling_session_id: id });
    await resultOf(url, await post(url, 'unload_model', { model_id: model.id }));
    for (const id of ids)
      expect(await post(url, 'asample', { ...asked, sampling_session_id: id })).toMatchObject({
        status: 404,
      });
  });

  it('is named by its session, and ends with it', async () => {
    const { url } = await startServer();
    const session = await createSession(url);
    const asked = { session_id: session, sampling_session_seq_id: 4, base_model: 'bigrams' };
    const { body } = await post(url, 'create_sampling_session', asked);
    expect(body).toMatchObject({ sampling_session_id: `${session}:sample:4` });
    expect((await get(url, `sessions/${session}`)).body).toMatchObject({
      sampler_ids: [`${session}:sample:4`],
    });
    expect((await get(url, `samplers/${session}:sample:4`)).body).toMatchObject({
      base_model: 'bigrams',
      model_path: null,
    });
    await post(url, `sessions/${session}/finish`, {});
    expect(await get(url, `samplers/${session}:sample:4`)).toMatchObject({ status: 404 });
  });
});
