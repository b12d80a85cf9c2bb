import { createChatFormat } from '@trinity-rft/chat';
import { responseLength, uid } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import { scriptedSampler } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import { decode, encode, format, modelOver, promptOf, scripted, tools } from '../test/helpers.js';

const hi = [{ role: 'user', content: 'hi' }] as const;
const call = '<tool_call>\n{"name": "add", "arguments": {"b": 1, "a": 2}}\n</tool_call>';

describe('chat', () => {
  it('gives text, exact tokens and log-probabilities', async () => {
    const { model, sampler } = scripted(['<think>hm</think>4<|im_end|>']);
    await sampler.adopt({ kind: 'published' }, 3);
    const [response] = await model.chat(hi);
    expect(response).toMatchObject({
      responseText: '4',
      reasoningText: 'hm',
      toolCalls: [],
      finishReason: 'stop',
      policyVersion: 3,
      temperature: 1,
    });
    expect(decode(response!.tokens)).toBe(`${promptOf('hi')}<think>hm</think>4<|im_end|>`);
    expect(response!.promptLength).toBe(encode(promptOf('hi')).length);
    expect(response!.logprobs).toHaveLength(response!.tokens.length - response!.promptLength);
  });

  it('reads tool calls when there are tools, with ids that say where they are from', async () => {
    const { model } = scripted([`so\n${call}<|im_end|>`, `so\n${call}<|im_end|>`]);
    const [[withTools], [without]] = [
      await model.chat(hi, { tools }),
      await model.chat(hi, { tools, toolChoice: 'none' }),
    ];
    const toolCall = {
      id: 'call_0_0_0',
      type: 'function',
      function: { name: 'add', arguments: '{"b": 1, "a": 2}' },
    };
    expect(withTools).toMatchObject({
      responseText: 'so',
      finishReason: 'tool_calls',
      toolCalls: [toolCall],
    });
    expect(without).toMatchObject({
      responseText: `so\n${call}`,
      finishReason: 'stop',
      toolCalls: [],
    });
  });

  it('asks the sampler once for n choices, with the defaults, its own options and a seed per call', async () => {
    const { model, sampler } = scripted(['a<|im_end|>', 'b<|im_end|>', 'c<|im_end|>'], {
      defaults: { temperature: 0.7, topP: 0.9, topK: 5, maxTokens: 50, minTokens: 2 },
    });
    expect((await model.chat(hi, { n: 2 })).map(({ responseText }) => responseText)).toEqual([
      'a',
      'b',
    ]);
    await model.chat(hi, {
      temperature: 0,
      topP: 1,
      topK: -1,
      maxTokens: 9,
      minTokens: 0,
      stop: ['x'],
      topLogprobs: 2,
    });
    const { stopTokenIds } = format;
    expect(sampler.calls.map(({ options }) => options)).toEqual([
      {
        n: 2,
        temperature: 0.7,
        topP: 0.9,
        topK: 5,
        maxTokens: 50,
        minTokens: 2,
        stopTokenIds,
        seed: 1000,
      },
      {
        n: 1,
        temperature: 0,
        topP: 1,
        topK: -1,
        maxTokens: 9,
        stop: ['x'],
        topLogprobs: 2,
        stopTokenIds,
        seed: 1001,
      },
    ]);
  });

  it('continues its own conversation on the recorded tokens', async () => {
    const odd = '<tool_call>{"arguments":{"a":1.0},"name":"add"}</tool_call><|im_end|>';
    const { model, sampler } = scripted([odd, 'done<|im_end|>']);
    const [first] = await model.chat(hi, { tools });
    const sent = first!.toolCalls.map((each) => ({
      ...each,
      function: { name: 'add', arguments: '{ "a": 1 }' },
    }));
    await model.chat(
      [
        ...hi,
        { role: 'assistant', content: null, tool_calls: sent },
        { role: 'tool', content: '3', tool_call_id: sent[0]!.id },
      ],
      { tools },
    );
    expect([...sampler.calls[1]!.prompt.subarray(0, first!.tokens.length)]).toEqual([
      ...first!.tokens,
    ]);
    expect(model.metrics()).toMatchObject({
      'model/calls': 2,
      'model/spliced': 1,
      'model/tool_calls': 1,
      'model/reused_tokens': first!.tokens.length,
    });
  });

  it('counts why a conversation could not be continued', async () => {
    const { model } = scripted(['one<|im_end|>', 'x<tool_call>oops<|im_end|>']);
    await model.chat(hi);
    await model.chat(
      [...hi, { role: 'assistant', content: 'two' }, { role: 'user', content: 'on' }],
      { tools },
    );
    expect(model.metrics()).toMatchObject({
      'model/fork/text_edited': 1,
      'model/spliced': 0,
      'model/malformed_tool_calls': 1,
    });
  });
});

it('counts calls of offered tools that no parser reads', async () => {
  const withoutParser = createChatFormat({ tokenizer: format.tokenizer });
  const { model } = scripted([`${call}<|im_end|>`, 'I would call add.<|im_end|>'], {
    format: withoutParser,
  });
  for (let turn = 0; turn < 2; turn++) await model.chat(hi, { tools });
  expect(model.metrics()).toMatchObject({
    'model/tool_calls': 0,
    'model/malformed_tool_calls': 0,
    'model/unread_tool_calls': 1,
  });
});

describe('limits', () => {
  const room = encode(promptOf('hi')).length;

  it.each([
    ['the call', { maxTokens: 2 }, {}, 2],
    ['the defaults', {}, { defaults: { maxTokens: 3 } }, 3],
    ['the longest response', { maxTokens: 9 }, { limits: { maxResponseTokens: 4 } }, 4],
    ['the length of the model', { maxTokens: 9 }, { limits: { maxModelLen: room + 5 } }, 5],
  ])('cut the response at %s', async (_, call_, options, expected) => {
    const { model } = scripted(['abcdefgh<|im_end|>'], options);
    const [response] = await model.chat(hi, call_);
    expect(response).toMatchObject({
      responseText: 'abcdefgh'.slice(0, expected),
      finishReason: 'length',
    });
    expect(model.extractExperiencesFromHistory()).toMatchObject([
      { truncateStatus: 'response_truncated', info: { finishReason: 'length' } },
    ]);
    expect(model.metrics()).toMatchObject({ 'model/response_truncated': 1 });
  });

  it.each([
    [
      { maxPromptTokens: room - 1 },
      `at most ${room - 1} (max_prompt_tokens) are allowed. Shorten it, send fewer messages or tools, or a smaller response_format`,
    ],
    [{ maxModelLen: room }, `together may have ${room}. Shorten`],
  ])('refuse a prompt longer than %o, and nothing is recorded', async (limits, message) => {
    const { model, sampler } = scripted([], { limits });
    await expect(model.chat(hi)).rejects.toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      message: expect.stringContaining(message) as string,
    });
    expect(sampler.calls).toEqual([]);
    expect(model.extractExperiencesFromHistory()).toEqual([]);
    expect(model.metrics()).toMatchObject({ 'model/prompt_too_long': 1, 'model/calls': 0 });
  });

  it.each([
    { n: 0 },
    { temperature: -1 },
    { topP: 0 },
    { topK: 0 },
    { maxTokens: 0 },
    { minTokens: -1 },
    { temperature: Number.NaN },
  ])('refuse %o', async (options) => {
    await expect(scripted([]).model.chat(hi, options)).rejects.toMatchObject({
      status: 400,
      details: { param: Object.keys(options)[0] },
    });
  });
});

describe('the history', () => {
  it('gives one experience per call and choice', async () => {
    const { model } = scripted(['a<|im_end|>', 'b<|im_end|>', 'cc<|im_end|>'], {
      defaults: { temperature: 0.5 },
      includePromptText: true,
    });
    await model.chat(hi, { n: 2 });
    const [last] = await model.chat(hi);
    const experiences = model.extractExperiencesFromHistory();
    expect(experiences.map(({ eid }) => uid(eid))).toEqual(['//0/0/0', '//0/0/1', '//0/1/0']);
    expect(experiences.map(responseLength)).toEqual([2, 2, 3]);
    expect(experiences[2]).toMatchObject({
      responseText: 'cc',
      promptText: promptOf('hi'),
      temperature: 0.5,
      policyVersion: -1,
      info: {
        finishReason: 'stop',
        times: [{ start: expect.any(Number) as number, end: expect.any(Number) as number }],
      },
    });
    expect([...experiences[2]!.tokens]).toEqual([...last!.tokens]);
    expect([...experiences[2]!.actionMask]).toEqual([1, 1, 1]);
    expect([...experiences[2]!.logprobs]).toEqual([...last!.logprobs]);
  });

  it('says which weights drew which tokens, where they changed meanwhile', async () => {
    const { sampler } = scripted(['five<|im_end|>']);
    const versions = [
      { start: 0, end: 2, policyVersion: 3 },
      { start: 2, end: 5, policyVersion: 4 },
    ];
    const model = modelOver({
      ...sampler,
      sample: async (...call) =>
        (await sampler.sample(...call)).map((text) => ({ ...text, policyVersion: 3, versions })),
    });
    await model.chat(hi);
    expect(model.extractExperiencesFromHistory()).toMatchObject([
      { policyVersion: 3, info: { versions } },
    ]);
  });

  it('is emptied when asked, and steps go on counting', async () => {
    const { model } = scripted(['a<|im_end|>', 'b<|im_end|>']);
    await model.chat(hi);
    expect(model.extractExperiencesFromHistory({ clear: false })).toEqual(
      model.extractExperiencesFromHistory(),
    );
    expect(model.extractExperiencesFromHistory()).toEqual([]);
    await model.chat(hi);
    expect(model.extractExperiencesFromHistory().map(({ eid }) => eid.step)).toEqual([1]);
    expect(model.extracted().map(({ eid }) => eid.step)).toEqual([0, 1]);
  });

  it('orders calls by when they began, whatever finishes first', async () => {
    const inner = scriptedSampler({
      script: ['late', 'early'].map((text) => encode(`${text}<|im_end|>`)),
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    const sampler: Sampler = {
      ...inner,
      policyVersion: 0,
      sample: async (...args) => {
        const sequences = await inner.sample(...args);
        if (args[1].seed === 1000) await promise;
        return sequences;
      },
    };
    const model = modelOver(sampler);
    const late = model.chat(hi);
    await model.chat(hi);
    resolve();
    await late;
    expect(
      model
        .extractExperiencesFromHistory()
        .map(({ responseText, eid }) => [responseText, eid.step]),
    ).toEqual([
      ['late', 0],
      ['early', 1],
    ]);
  });

  it('is rejected where none is kept', async () => {
    const { model } = scripted(['a<|im_end|>'], { recordHistory: false });
    await model.chat(hi);
    expect(() => model.extractExperiencesFromHistory()).toThrow(/records no history/);
  });

  it('belongs to one model', async () => {
    const sampler = scriptedSampler({ script: [encode('a<|im_end|>')] });
    const [one, other] = [modelOver(sampler), modelOver(sampler)];
    await one.chat(hi);
    expect(other.extractExperiencesFromHistory()).toEqual([]);
  });
});

describe('what a sampler returns', () => {
  const answering = (logprobs: readonly number[]): Promise<unknown> =>
    modelOver(scriptedSampler({ script: [{ tokens: encode('a<|im_end|>'), logprobs }] })).chat(hi);

  it('has rounding noise above 0 set to 0', async () => {
    await expect(answering([1e-6, -0.5])).resolves.toMatchObject([
      { logprobs: Float32Array.of(0, -0.5) },
    ]);
  });

  it.each([[[0.1, -0.5]], [[Number.NaN, -0.5]], [[-Infinity, -0.5]], [[-0.5]]])(
    'is refused with log-probabilities %o',
    async (logprobs) => {
      await expect(answering(logprobs)).rejects.toMatchObject({
        name: 'EngineError',
        code: 'SAMPLE_INVALID',
      });
    },
  );

  it('is rejected without tokens', async () => {
    await expect(modelOver(scriptedSampler({ script: [[]] })).chat(hi)).rejects.toMatchObject({
      code: 'SAMPLE_INVALID',
    });
  });

  it('ends its text before a stop string', async () => {
    const inner = scriptedSampler({ script: [encode('4 STOP')] });
    const sampler: Sampler = {
      ...inner,
      policyVersion: 0,
      sample: async (...args) =>
        (await inner.sample(...args)).map((sequence) => ({ ...sequence, stopString: ' STOP' })),
    };
    const [response] = await modelOver(sampler).chat(hi, { stop: [' STOP'] });
    expect(response).toMatchObject({ responseText: '4', finishReason: 'stop' });
    expect(decode(response!.tokens).endsWith('4 STOP')).toBe(true);
  });
});

describe('cancelling', () => {
  it.each(['rollout', 'call'] as const)(
    'gives up before sampling when the %s has ended',
    async (which) => {
      const signal = AbortSignal.abort();
      const { model, sampler } = scripted([], which === 'rollout' ? { signal } : {});
      await expect(model.chat(hi, which === 'call' ? { signal } : {})).rejects.toMatchObject({
        name: 'CancelledError',
        reason: 'aborted',
      });
      expect(sampler.calls).toEqual([]);
    },
  );

  it('records nothing of a call whose rollout ended meanwhile', async () => {
    const controller = new AbortController();
    const inner = scriptedSampler({ script: [encode('a<|im_end|>')] });
    const sampler: Sampler = {
      ...inner,
      policyVersion: 0,
      // This sampler finishes its answer although the call was aborted.
      sample: async (prompt, options) => {
        controller.abort();
        return await inner.sample(prompt, options);
      },
    };
    const model = modelOver(sampler, { signal: controller.signal });
    await expect(model.chat(hi)).rejects.toMatchObject({ name: 'CancelledError' });
    expect(model.extractExperiencesFromHistory()).toEqual([]);
  });
});
