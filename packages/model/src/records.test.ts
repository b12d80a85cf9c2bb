import { BufferError } from '@trinity-rft/core';
import type { Sampler, SampledSequence } from '@trinity-rft/core/engine';
import { mergeCalls } from '@trinity-rft/core/internal';
import { OpenAI } from 'openai';
import { describe, expect, it } from 'vitest';
import { encode, format, modelOver, scripted } from '../test/helpers.js';

const hi = { role: 'user', content: 'hi' } as const;
const on = { role: 'user', content: 'on' } as const;
const said = (content: string) => ({ role: 'assistant', content }) as const;

describe('records of a conversation', () => {
  it('merge into one sequence while it is continued, and say why where it is not', async () => {
    const { model } = scripted(['one<|im_end|>', 'two<|im_end|>', 'three<|im_end|>']);
    await model.chat([hi]);
    await model.chat([hi, said('one'), on]);
    await model.chat([hi, said('won'), on]);
    const experiences = model.extractExperiencesFromHistory();
    expect(experiences.map(({ info }) => info['fork'])).toEqual([
      undefined,
      undefined,
      'text_edited',
    ]);
    const merged = mergeCalls(experiences);
    expect(merged.metrics).toMatchObject({ merged: 1, 'split/text_edited': 1 });
    expect(merged.experiences[0]!.tokens).toEqual(experiences[1]!.tokens);
    expect(model.forks()).toEqual([
      {
        callIndex: 2,
        reason: 'text_edited',
        message: 1,
        recorded: '{"content":"one"}',
        sent: '{"content":"won"}',
      },
    ]);
  });

  it('are reported to their owner under the id of the answer, before the client has it, and can be rejected', async () => {
    const told: [string, number][] = [];
    const { model } = scripted(
      ['one<|im_end|>', 'two<|im_end|>', 'three<|im_end|>', 'four<|im_end|>', 'five<|im_end|>'],
      {
        recordHistory: false,
        onAnswer: async ({ id, experiences }) => {
          await new Promise((resolve) => setImmediate(resolve));
          if (told.length === 3) throw new BufferError('The disk is full.');
          told.push([id, experiences.length]);
          expect(experiences.map(({ eid }) => eid)).toMatchObject(
            experiences.map((_, choice) => ({ step: told.length - 1, suffix: `${choice}` })),
          );
        },
      },
    );
    const client = new OpenAI({ ...model.endpoint().openai(), maxRetries: 0 });
    const chat = await client.chat.completions.create({ model: 'any', messages: [hi], n: 2 });
    const response = await client.responses.create({ model: 'any', input: 'hi' });
    const text = await client.completions.create({ model: 'any', prompt: 'hi' });
    expect(told).toEqual([
      [chat.id, 2],
      [response.id, 1],
      [text.id, 1],
    ]);
    await expect(
      client.chat.completions.create({ model: 'any', messages: [hi] }),
    ).rejects.toMatchObject({ status: 500 });
  });

  it('keep a bounded number of differences', async () => {
    const { model } = scripted(Array.from({ length: 21 }, () => 'one<|im_end|>'));
    await model.chat([hi]);
    for (let i = 0; i < 20; i++) await model.chat([hi, said(`edited ${i}`), on]);
    expect(model.forks()).toHaveLength(8);
    expect(model.metrics()).toMatchObject({ 'model/fork/text_edited': 20 });
  });

  it.each([
    ['as-sent', { 'model/fork/reasoning_dropped': 1 }],
    ['restore', { 'model/spliced': 1, 'model/reasoning_restored': 1 }],
  ] as const)('treat reasoning that was left out %s', async (reasoning, counts) => {
    const { model } = scripted(['<think>hm</think>one<|im_end|>', 'two<|im_end|>'], { reasoning });
    await model.chat([hi]);
    await model.chat([hi, said('one'), on]);
    expect(model.metrics()).toMatchObject(counts);
  });
});

describe('an answer of the sampler', () => {
  const answering = (sequence: Partial<SampledSequence>): Sampler => ({
    maxModelLen: 1000,
    policyVersion: 0,
    adopt: () => Promise.resolve(),
    sample: () =>
      Promise.resolve([
        {
          tokens: encode('a<|im_end|>'),
          logprobs: Float32Array.of(-1, -1),
          stopReason: 'stop',
          policyVersion: 0,
          ...sequence,
        },
      ]),
  });

  it.each<[string, Partial<SampledSequence>]>([
    ['ends in a token that ends nothing', { tokens: encode('ab') }],
    ['has an id below 0', { tokens: Int32Array.of(-1, format.stopTokenIds[0]!) }],
    ['has fewer log-probabilities than tokens', { logprobs: Float32Array.of(-1) }],
    ['has a log-probability that is not finite', { logprobs: Float32Array.of(-1, -Infinity) }],
  ])('is rejected when it %s', async (_what, sequence) => {
    const model = modelOver(answering(sequence));
    await expect(model.chat([hi])).rejects.toMatchObject({ code: 'SAMPLE_INVALID' });
    expect(model.extractExperiencesFromHistory()).toEqual([]);
  });

  it.each<[string, Partial<SampledSequence>]>([
    ['a stop token', {}],
    ['a token limit', { tokens: encode('ab'), stopReason: 'length' }],
    ['a stop string', { tokens: encode('ab'), stopString: 'b' }],
  ])('may end by %s, and all its tokens are trained', async (_what, sequence) => {
    const model = modelOver(answering(sequence));
    await model.chat([hi]);
    expect(model.extractExperiencesFromHistory().map(({ actionMask }) => [...actionMask])).toEqual([
      [1, 1],
    ]);
  });
});
