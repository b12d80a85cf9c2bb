import type { Sampler } from '@trinity-rft/core/engine';
import { scriptedSampler } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import { decode, encode, modelOver, promptOf, scripted, tools } from '../../../test/helpers.js';

const messages = [{ role: 'user' as const, content: 'hi' }];
const base = { model: 'gpt-5', messages };
const call = (args: string): string =>
  `<tool_call>\n{"name": "add", "arguments": ${args}}\n</tool_call>`;

const post = (body: unknown, path = '/r/7/v1/chat/completions'): Request =>
  new Request(`http://host${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('the OpenAI client', () => {
  it('completes and is recorded', async () => {
    const { model, runtime } = scripted(['<think>hm</think>4<|im_end|>']);
    await runtime.clock.advance(5000);
    const completion = await model.openaiClient().chat.completions.create(base);
    const sizes = { prompt_tokens: encode(promptOf('hi')).length, completion_tokens: 6 };
    expect(completion).toMatchObject({
      object: 'chat.completion',
      model: 'tiny',
      created: Math.floor(runtime.clock.now() / 1000),
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          message: { role: 'assistant', content: '4', reasoning: 'hm', reasoning_content: 'hm' },
          logprobs: null,
        },
      ],
      usage: { ...sizes, total_tokens: sizes.prompt_tokens + sizes.completion_tokens },
    });
    expect(model.extractExperiencesFromHistory()).toMatchObject([
      { responseText: '4', promptLength: sizes.prompt_tokens },
    ]);
  });

  it('knows the name of the model in both ways', async () => {
    const { model } = scripted([]);
    const client = model.openaiClient();
    expect((await client.models.list()).data[0]!.id).toBe('tiny');
    expect(client.modelPath).toBe('tiny');
    expect(model.openaiClient()).toBe(client);
  });

  it.each(['qwen:7b/x', 'C:\\m\\x', 'a b+c@d%2F', 'ü'])(
    'retrieves a model whose name is %s',
    async (modelPath) => {
      const { model } = scripted([], { modelPath });
      expect((await model.openaiClient().models.retrieve(modelPath)).id).toBe(modelPath);
    },
  );

  it('runs a tool loop on exact tokens', async () => {
    const turns = [
      `so\n${call('{"b":1,  "a":2.0}')}<|im_end|>`,
      `${call('{"a":3}')}\n${call('{"a":4}')}<|im_end|>`,
      'fin<|im_end|>',
    ];
    const { model, sampler } = scripted(turns);
    const seen: unknown[] = [];
    const add = {
      type: 'function' as const,
      function: {
        ...tools[0]!.function,
        description: 'Adds.',
        parse: JSON.parse,
        function: (args: unknown) => (seen.push(args), 'ok'),
      },
    };
    const runner = model.openaiClient().chat.completions.runTools({ ...base, tools: [add] });
    expect(await runner.finalContent()).toBe('fin');
    expect(seen).toEqual([{ b: 1, a: 2 }, { a: 3 }, { a: 4 }]);
    const prompts = sampler.calls.map(({ prompt }) => decode(prompt));
    expect(prompts[1]!.startsWith(prompts[0]! + turns[0]!)).toBe(true);
    expect(prompts[2]!.startsWith(prompts[1]! + turns[1]!)).toBe(true);
    expect(
      prompts[2]!.endsWith(
        '\n<tool_response>\nok\n</tool_response>\n<tool_response>\nok\n</tool_response><|im_end|>\n<|im_start|>assistant\n',
      ),
    ).toBe(true);
    expect(model.metrics()).toMatchObject({ 'model/spliced': 2, 'model/tool_calls': 3 });
    expect(model.extractExperiencesFromHistory().map(({ eid }) => eid.step)).toEqual([0, 1, 2]);
  });

  it('describes tools with the keys in the order of the client, without strict', async () => {
    const { model, sampler } = scripted(['a<|im_end|>']);
    await model.openaiClient().chat.completions.create({
      ...base,
      tools: [{ type: 'function', function: { ...tools[0]!.function, strict: true } }],
    });
    expect(decode(sampler.calls[0]!.prompt)).toContain(
      '{"name": "add", "parameters": {"type": "object", "properties": {"b": {"type": "number"}, "a": {"type": "number"}}}}}',
    );
  });

  it('streams the finished answer, one chunk per tool call', async () => {
    const { model } = scripted([`so\n${call('{"a":1}')}\n${call('{"a":2}')}<|im_end|>`]);
    const stream = await model.openaiClient().chat.completions.create({
      ...base,
      tools,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
      { role: 'assistant', content: 'so' },
      {
        tool_calls: [
          {
            index: 0,
            id: 'call_0_0_0',
            type: 'function',
            function: { name: 'add', arguments: '{"a":1}' },
          },
        ],
      },
      {
        tool_calls: [
          {
            index: 1,
            id: 'call_0_0_1',
            type: 'function',
            function: { name: 'add', arguments: '{"a":2}' },
          },
        ],
      },
      {},
      undefined,
    ]);
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason ?? null)).toEqual([
      null,
      null,
      null,
      'tool_calls',
      null,
    ]);
    expect(chunks.at(-1)!.usage).toMatchObject({ prompt_tokens: expect.any(Number) as number });
    expect(model.extractExperiencesFromHistory()).toHaveLength(1);
  });

  it('gives the same through its streaming helper', async () => {
    const { model } = scripted([`so\n${call('{"a":1}')}<|im_end|>`]);
    const final = await model
      .openaiClient()
      .chat.completions.stream({ ...base, tools })
      .finalChatCompletion();
    expect(final.choices[0]!.message).toMatchObject({
      content: 'so',
      tool_calls: [{ id: 'call_0_0_0', function: { arguments: '{"a":1}' } }],
    });
  });

  it('gives n choices', async () => {
    const { model } = scripted(['a<|im_end|>', 'b<|im_end|>', 'c<|im_end|>', 'd<|im_end|>']);
    const client = model.openaiClient();
    const whole = await client.chat.completions.create({ ...base, n: 2 });
    expect(whole.choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, 'a'],
      [1, 'b'],
    ]);
    const texts = ['', ''];
    for await (const { choices } of await client.chat.completions.create({
      ...base,
      n: 2,
      stream: true,
    })) {
      texts[choices[0]!.index]! += choices[0]!.delta.content ?? '';
    }
    expect(texts).toEqual(['c', 'd']);
  });

  it('has null for the text of pure tool calls', async () => {
    const { model } = scripted([`${call('{}')}<|im_end|>`]);
    const { choices } = await model.openaiClient().chat.completions.create({ ...base, tools });
    expect(choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
  });
});

describe('settings of the client', () => {
  it('keep the stop strings and a lower limit; sampling belongs to the run and that is said once', async () => {
    const notices = new Set<string>();
    const { model, sampler, runtime } = scripted(['a<|im_end|>', 'b<|im_end|>'], {
      defaults: { temperature: 0.8, maxTokens: 100 },
      notices,
    });
    const wishes = {
      ...base,
      temperature: 0,
      top_p: 0.1,
      seed: 1,
      stop: 'x',
      max_tokens: 200,
      max_completion_tokens: 7,
    };
    await model.openaiClient().chat.completions.create(wishes);
    await model.openaiClient().chat.completions.create(wishes);
    expect(sampler.calls[0]!.options).toMatchObject({
      temperature: 0.8,
      topP: 1,
      topK: -1,
      stop: ['x'],
      maxTokens: 7,
      seed: 1000,
    });
    expect(runtime.logger.messages('info')).toEqual([
      expect.stringContaining('The agent sets temperature, top_p, seed.'),
    ]);
    expect(notices.size).toBe(1);
    expect(model.metrics()).toMatchObject({ 'model/sampling_overridden': 2 });
  });

  it('are respected for helpers', async () => {
    const { model, sampler } = scripted(['a<|im_end|>'], {
      clientSampling: 'respect',
      defaults: { temperature: 0.8, topK: 3 },
    });
    await model
      .openaiClient()
      .chat.completions.create({ ...base, temperature: 0, top_p: 0.5, seed: 5 });
    expect(sampler.calls[0]!.options).toMatchObject({
      temperature: 0,
      topP: 0.5,
      topK: 3,
      seed: 5,
    });
  });

  it('do not force the model into a format', async () => {
    const { model, runtime } = scripted(['a<|im_end|>', 'b<|im_end|>']);
    const client = model.openaiClient();
    const named = { type: 'function' as const, function: { name: 'add' } };
    expect(
      (await client.chat.completions.create({ ...base, tools, tool_choice: 'required' }))
        .choices[0]!.message.content,
    ).toBe('a');
    await client.chat.completions.create({
      ...base,
      tools,
      tool_choice: named,
      response_format: { type: 'json_object' },
    });
    expect(model.metrics()).toMatchObject({ 'model/unconstrained': 2 });
    expect(runtime.logger.messages('info')).toHaveLength(2);
  });

  it('can turn tool calls off', async () => {
    const { model } = scripted([`${call('{}')}<|im_end|>`]);
    const { choices } = await model
      .openaiClient()
      .chat.completions.create({ ...base, tools, tool_choice: 'none' });
    expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: call('{}') } });
  });

  it('that frameworks send without meaning are tolerated', async () => {
    const { model } = scripted(['a<|im_end|>']);
    const junk = {
      tools: [],
      tool_choice: 'auto',
      store: false,
      metadata: {},
      user: 'me',
      parallel_tool_calls: true,
      stop: null,
      n: null,
      max_tokens: null,
    };
    const response = await model.handler(
      post({
        ...base,
        ...junk,
        response_format: { type: 'text' },
        modalities: ['text'],
        functions: [],
      }),
    );
    expect(response.status).toBe(200);
    expect(model.metrics()).not.toHaveProperty('model/unconstrained');
  });

  it('bring log-probabilities and token ids', async () => {
    const inner = scriptedSampler({ script: [encode('a<|im_end|>')] });
    const alternatives = [0, 1].map(() =>
      [encode('a')[0]!, encode('b')[0]!].map((token) => ({ token, logprob: -1 })),
    );
    const sampler: Sampler = {
      ...inner,
      policyVersion: 0,
      sample: async (...args) =>
        (await inner.sample(...args)).map((sequence) => ({
          ...sequence,
          topLogprobs: alternatives,
        })),
    };
    const model = modelOver(sampler);
    const body = await (
      await model.handler(
        post({ ...base, logprobs: true, top_logprobs: 1, return_token_ids: true }),
      )
    ).json();
    const a = { token: 'a', logprob: -0.25, bytes: [97] };
    expect(body).toMatchObject({
      prompt_token_ids: [...encode(promptOf('hi'))],
      choices: [
        {
          token_ids: [...encode('a<|im_end|>')],
          logprobs: {
            content: [{ ...a, top_logprobs: [{ ...a, logprob: -1 }] }, { token: '<|im_end|>' }],
          },
        },
      ],
    });
    expect(inner.calls[0]!.options.topLogprobs).toBe(1);
  });
});
