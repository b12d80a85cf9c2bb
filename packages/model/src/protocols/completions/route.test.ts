import { createChatFormat, createTokenizer } from '@trinity-rft/chat';
import { BadRequestError } from 'openai';
import { describe, expect, it } from 'vitest';
import { decode, encode, format, scripted } from '../../../test/helpers.js';

const base = { model: 'gpt-5', prompt: 'The sum is ' };

describe('text completions', () => {
  it('go on from the text as it is, and are recorded as experiences of their own', async () => {
    const { model, sampler } = scripted(['<think>no</think>4 <tool_call>x<|im_end|>']);
    const completion = await model.openaiClient().completions.create(base);
    expect(decode(sampler.calls[0]!.prompt)).toBe('The sum is ');
    const sizes = { prompt_tokens: encode(base.prompt).length, completion_tokens: 9 };
    expect(completion).toMatchObject({
      id: expect.stringMatching(/^cmpl_/) as string,
      object: 'text_completion',
      model: 'tiny',
      choices: [
        {
          index: 0,
          text: '<think>no</think>4 <tool_call>x',
          finish_reason: 'stop',
          logprobs: null,
        },
      ],
      usage: { ...sizes, total_tokens: sizes.prompt_tokens + sizes.completion_tokens },
    });
    const [experience] = model.extractExperiencesFromHistory();
    expect(decode(experience!.tokens)).toBe('The sum is <think>no</think>4 <tool_call>x<|im_end|>');
    expect(experience).toMatchObject({
      promptLength: sizes.prompt_tokens,
      responseText: '<think>no</think>4 <tool_call>x',
    });
  });

  it.each([
    ['a list of one text', ['ab']],
    ['token ids', [...encode('ab')]],
    ['a list of one list of ids', [[...encode('ab')]]],
  ])('take %s', async (_, prompt) => {
    const { model, sampler } = scripted(['c<|im_end|>']);
    await model.openaiClient().completions.create({ ...base, prompt });
    expect([...sampler.calls[0]!.prompt]).toEqual([...encode('ab')]);
  });

  it('begin with what the tokenizer puts before a text, once', async () => {
    const { files } = format.tokenizer;
    const tokenizerConfig = {
      ...files.tokenizerConfig,
      bos_token: '<|im_start|>',
      add_bos_token: true,
    };
    const tokenizer = createTokenizer({ ...files, tokenizerConfig });
    const { model, sampler } = scripted(
      ['1', '2', '3'].map((text) => `${text}<|im_end|>`),
      {
        format: createChatFormat({ tokenizer }),
      },
    );
    for (const prompt of ['ab', '<|im_start|>ab', [...encode('ab')]])
      await model.openaiClient().completions.create({ ...base, prompt });
    const seen = sampler.calls.map(({ prompt }) => decode(prompt));
    expect(seen).toEqual(['<|im_start|>ab', '<|im_start|>ab', 'ab']);
  });

  it('are streamed', async () => {
    const { model } = scripted(['a<|im_end|>', 'b<|im_end|>']);
    const stream = await model
      .openaiClient()
      .completions.create({ ...base, n: 2, stream: true, stream_options: { include_usage: true } });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(
      chunks.map(({ choices }) =>
        choices.map(({ index, text, finish_reason }) => [index, text, finish_reason]),
      ),
    ).toEqual([[[0, 'a', null]], [[0, '', 'stop']], [[1, 'b', null]], [[1, '', 'stop']], []]);
    expect(chunks.at(-1)!.usage).toMatchObject({ completion_tokens: 4 });
    expect(model.extractExperiencesFromHistory()).toHaveLength(2);
  });

  it('bring log-probabilities with offsets, and token ids', async () => {
    const { model } = scripted(['ab<|im_end|>']);
    const { choices } = await model
      .openaiClient()
      .completions.create({ ...base, logprobs: 0, ...{ return_token_ids: true } });
    expect(choices[0]!.logprobs).toEqual({
      tokens: ['a', 'b', '<|im_end|>'],
      token_logprobs: [-0.25, -0.25, -0.25],
      text_offset: [0, 1, 2],
      top_logprobs: [{ a: -0.25 }, { b: -0.25 }, { '<|im_end|>': -0.25 }],
    });
    expect(choices[0]).toMatchObject({ token_ids: [...encode('ab<|im_end|>')] });
  });

  it('keep to the limits of the client', async () => {
    const { model, sampler } = scripted(['abc<|im_end|>'], { defaults: { temperature: 0.8 } });
    const { choices } = await model
      .openaiClient()
      .completions.create({ ...base, max_tokens: 2, stop: 'x', temperature: 0 });
    expect(choices[0]).toMatchObject({ text: 'ab', finish_reason: 'length' });
    expect(sampler.calls[0]!.options).toMatchObject({
      maxTokens: 2,
      stop: ['x'],
      temperature: 0.8,
    });
    expect(model.metrics()).toMatchObject({ 'model/sampling_overridden': 1 });
  });

  it('are no turn of a conversation', async () => {
    const { model } = scripted(['4<|im_end|>', '5<|im_end|>']);
    const client = model.openaiClient();
    await client.completions.create({
      ...base,
      prompt: '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n',
    });
    await client.chat.completions.create({
      model: 'x',
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: '4' },
        { role: 'user', content: 'ho' },
      ],
    });
    expect(model.metrics()).toMatchObject({ 'model/calls': 2, 'model/spliced': 0 });
    expect(model.extractExperiencesFromHistory().map(({ eid }) => eid.step)).toEqual([0, 1]);
  });

  it('are rejected when they are longer than the model', async () => {
    const { model } = scripted([], { limits: { maxPromptTokens: 2 } });
    const failure = await model
      .openaiClient()
      .completions.create(base)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(BadRequestError);
    expect(failure).toMatchObject({ code: 'context_length_exceeded', param: 'prompt' });
  });

  it.each([
    ['suffix', { suffix: 'x' }],
    ['best_of', { best_of: 2 }],
    ['echo', { echo: true }],
    ['prompt', { prompt: '' }],
    ['prompt[0]', { prompt: [[]] }],
    ['prompt[0]', { prompt: [1.5] }],
    ['logprobs', { logprobs: 99 }],
  ])('refuse %s', async (param, change) => {
    const { model } = scripted([]);
    const body = JSON.stringify({ ...base, ...change });
    const response = await model.handler(
      new Request('http://host/v1/completions', { method: 'POST', body }),
    );
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
  });
});
