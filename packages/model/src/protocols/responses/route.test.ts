import { NotFoundError } from 'openai';
import { describe, expect, it } from 'vitest';
import { scriptedSampler } from '@trinity-rft/testing';
import { encode, format, modelOver, scripted } from '../../../test/helpers.js';
import { add, at, call, post } from '../../../test/responses.js';
import type { RolloutModelOptions } from '../../recording-model.js';
import type { Item } from './items.js';
import { createResponseStore, type StoredResponse } from './response-store.js';

const base = { model: 'gpt-5', input: 'hi' };

describe('stored responses', () => {
  it('can be read again, whole and as a stream, from any event on', async () => {
    const { model } = scripted(['a<|im_end|>']);
    const { responses } = model.openaiClient();
    const created = await responses.create(base);
    expect((await responses.retrieve(created.id)).output).toEqual(created.output);
    const streamed = await responses.stream({ response_id: created.id }).finalResponse();
    expect(streamed.output_text).toBe('a');
    const rest = await (
      await model.handler(at(`${created.id}?stream=true&starting_after=6`))
    ).text();
    expect(rest.startsWith('event: response.output_item.done')).toBe(true);
    for (const number of ['abc', '-1', '1.5', '']) {
      const refused = await model.handler(at(`${created.id}?stream=true&starting_after=${number}`));
      expect([refused.status, await refused.json()]).toMatchObject([
        400,
        { error: { param: 'starting_after' } },
      ]);
    }
  });

  it.each([
    ['text', {}],
    ['sealed reasoning', { include: ['reasoning.encrypted_content'] }],
  ])('continue a stream of several deltas after any of its events: %s', async (_what, more) => {
    const script = [encode(`<think>hmm</think>so it is\n${call('{"a":1}')}<|im_end|>`)];
    const inner = scriptedSampler({ script });
    const sample: typeof inner.sample = async (prompt, options, signal, onTokens) => {
      const sequences = await inner.sample(prompt, options, signal);
      for (const token of sequences[0]?.tokens ?? []) {
        onTokens?.(0, [token]);
        // Several tokens may arrive before the next event is written.
        if (token % 3 > 0) await new Promise(setImmediate);
      }
      return sequences;
    };
    const model = modelOver({ ...inner, sample }, { streamText: 'sampled' });
    const request = { ...base, tools: [add], stream: true, ...more };
    const live = await (await model.handler(post(request))).text();
    const events = live.split(/(?<=\n\n)/);
    expect(events.filter((event) => event.includes('output_text.delta')).length).toBeGreaterThan(4);
    // The first two events differ in the temperature, which a finished response knows.
    for (const n of [...events.keys()].slice(1)) {
      const rest = await model.handler(at(`resp_0?stream=true&starting_after=${n}`));
      expect(await rest.text()).toBe(events.slice(n + 1).join(''));
    }
  });

  it('are gone when they are deleted, but not for the ones that continue them', async () => {
    const { model, sampler } = scripted(['a<|im_end|>', 'b<|im_end|>', 'c<|im_end|>']);
    const { responses } = model.openaiClient();
    const first = await responses.create(base);
    const second = await responses.create({ ...base, previous_response_id: first.id });
    await responses.delete(first.id);
    await expect(responses.retrieve(first.id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(
      responses.create({ ...base, previous_response_id: first.id }),
    ).rejects.toMatchObject({
      status: 404,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
      message: expect.stringContaining(first.id) as string,
    });
    await responses.create({ ...base, previous_response_id: second.id });
    expect(sampler.calls).toHaveLength(3);
    expect(model.metrics()).toMatchObject({ 'model/spliced': 2 });
  });

  it('are deleted with their items, but for those that another stored response has', async () => {
    const { model } = scripted(Array<string>(4).fill('a<|im_end|>'));
    const { responses } = model.openaiClient();
    const question = { type: 'message' as const, id: 'q', role: 'user' as const, content: 'hi' };
    const first = await responses.create({ ...base, input: [question] as never });
    const references = [{ id: 'q' }, { id: first.output[0]!.id! }, { role: 'user', content: 'on' }];
    const ask = (): Promise<{ readonly id: string }> =>
      responses.create({ ...base, input: references as never });
    const second = await ask();
    await responses.delete(first.id);
    const third = await ask();
    for (const { id } of [second, third]) await responses.delete(id);
    await expect(ask()).rejects.toMatchObject({ status: 400, param: 'input[0].id' });
    const output = references.slice(1);
    await expect(responses.create({ ...base, input: output as never })).rejects.toMatchObject({
      status: 400,
      param: 'input[0].id',
    });
  });

  it('of short calls count 500 tokens each: keptTokens are kept at least, and twice as many at most', async () => {
    const { model } = scripted(Array<string>(7).fill('a<|im_end|>'), { keptTokens: 1500 });
    const { responses } = model.openaiClient();
    const ids: string[] = [];
    for (let call = 0; call < 7; call++) {
      const { id } = await responses.create({ ...base, previous_response_id: ids.at(-1) });
      ids.push(id);
      for (const kept of ids.slice(-3)) expect((await responses.retrieve(kept)).id).toBe(kept);
    }
    await expect(responses.retrieve(ids[0]!)).rejects.toBeInstanceOf(NotFoundError);
    expect(model.metrics()).toMatchObject({ 'model/spliced': 6 });
  });

  it('are forgotten after keptTokens, whose calls may also fail or only count tokens', async () => {
    const script = Array<Int32Array>(5).fill(encode('a<|im_end|>'));
    const sampler = scriptedSampler({ script, maxModelLen: 4000 });
    const model = modelOver(sampler, { keptTokens: 3000 });
    const { responses } = model.openaiClient();
    const long = { ...base, input: 'x'.repeat(3000) };
    const isKept = async (id: string): Promise<boolean> =>
      (await model.handler(new Request(`http://host/v1/responses/${id}`))).status === 200;
    const tooLong = (): Promise<unknown> =>
      responses.create({ ...base, input: 'x'.repeat(4000) }).catch((error: unknown) => error);
    const count = (): Promise<Response> =>
      model.handler(
        new Request('http://host/v1/messages/count_tokens', {
          method: 'POST',
          body: JSON.stringify({ messages: [{ role: 'user', content: long.input }] }),
        }),
      );
    expect([await count(), model.keptTokens()]).toMatchObject([{ status: 200 }, 0]);
    for (const ask of [() => responses.create(long), tooLong, count]) {
      const { id } = await responses.create(base);
      const kept = [];
      for (const _ of [1, 2]) {
        await ask();
        kept.push(await isKept(id));
      }
      expect(model.keptTokens()).toBeGreaterThan(6000);
      await count();
      expect([...kept, await isKept(id)]).toEqual([true, true, false]);
    }
    expect(model.keptTokens()).toBeLessThan(11_000);
  });

  const { tokenizer } = format;
  // A vocabulary without an unknown token limits the length of a text with few tokens.
  const { model: vocabulary, ...rest } = tokenizer.files.tokenizer;
  const known = { ...rest, model: { ...(vocabulary as object), unk_token: null } };
  const files = { ...tokenizer.files, tokenizer: known };
  it.each<readonly [string, Partial<RolloutModelOptions>, string]>([
    ['are too long', { format: { ...format, tokenizer: { ...tokenizer, files } } }, 'at most 1000'],
    ['cannot be tokenized', { encodeLongText: () => Promise.reject(new Error('lost')) }, '500'],
  ])('count by the length of their text where prompts %s', async (_what, options, message) => {
    const script = [encode('a<|im_end|>')];
    const model = modelOver(scriptedSampler({ script, maxModelLen: 1000 }), options);
    const { responses } = model.openaiClient();
    await responses.create(base);
    const before = model.keptTokens();
    const long = { ...base, input: 'x'.repeat(40_000) };
    await expect(responses.create(long)).rejects.toThrow(message);
    expect(model.keptTokens() - before).toBeGreaterThanOrEqual(10_000);
    expect(model.keptTokens() - before).toBeLessThan(11_000);
  });

  it('are deleted without reading the items of the others', async () => {
    const store = createResponseStore();
    let reads = 0;
    const itemOf = (id: string): Item => ({
      message: { role: 'user', content: id },
      get wire() {
        reads++;
        return { id };
      },
    });
    for (let call = 0; call < 100; call++)
      store.add({
        body: { id: `r${call}` },
        input: [itemOf(`in_${call}`)],
        output: [itemOf(`out_${call}`)],
      } as unknown as StoredResponse);
    reads = 0;
    expect(store.delete('r7')).toBe(true);
    expect(reads).toBeLessThan(10);
  });

  it.each([{ instructions: 'be brief' }, { text: { format: { type: 'json_object' as const } } }])(
    'need an input beside %o',
    async (more) => {
      const { model } = scripted([]);
      await expect(
        model.openaiClient().responses.create({ ...base, ...more, input: [] }),
      ).rejects.toMatchObject({ status: 400, param: 'input' });
    },
  );

  it('keep an item that a later response repeats when the first one is deleted', async () => {
    const { model } = scripted(['a<|im_end|>', 'b<|im_end|>', 'c<|im_end|>']);
    const { responses } = model.openaiClient();
    const first = await responses.create(base);
    const sent = [{ role: 'user', content: 'hi' }, ...first.output];
    await responses.create({ ...base, input: sent as never });
    await responses.delete(first.id);
    const reference = { type: 'item_reference' as const, id: first.output[0]!.id! };
    expect((await responses.create({ ...base, input: [reference] })).output_text).toBe('c');
  });

  it('are those that were not made with store: false', async () => {
    const { model } = scripted(['<think>hm</think>a<|im_end|>', 'b<|im_end|>']);
    const { responses } = model.openaiClient();
    const { id, output } = await responses.create({ ...base, store: false });
    await expect(responses.retrieve(id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(responses.create({ ...base, previous_response_id: id })).rejects.toMatchObject({
      status: 404,
    });
    const reference = { type: 'item_reference' as const, id: output[1]!.id! };
    await expect(responses.create({ ...base, input: [reference] })).rejects.toMatchObject({
      status: 400,
      param: 'input[0].id',
    });
    const [, message] = output as [unknown, object];
    const kept = {
      ...(output[0] as { readonly encrypted_content: string }),
      summary: [],
      content: [],
    };
    const input = [
      { role: 'user', content: 'hi' },
      kept,
      message,
      { role: 'user', content: 'on' },
    ] as never;
    await responses.create({ ...base, store: false, input });
    expect(model.metrics()).toMatchObject({ 'model/spliced': 1 });
  });

  it('belong to one run', async () => {
    const { model } = scripted(['a<|im_end|>']);
    const { id } = await model.openaiClient().responses.create(base);
    expect((await scripted([]).model.handler(at(id))).status).toBe(404);
  });

  it.each([
    [404, at('resp_99')],
    [404, at('resp_99', 'DELETE')],
    [404, at('%E0%A4%A')],
    [405, at('resp_0', 'POST')],
    [404, at('resp_0/input_items')],
    [400, post('{')],
  ])('answer %i', async (status, request) => {
    expect((await scripted([]).model.handler(request)).status).toBe(status);
  });
});
