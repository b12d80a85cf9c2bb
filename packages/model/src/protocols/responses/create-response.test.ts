import { systemClock } from '@trinity-rft/core';
import { scriptedSampler, testRuntime } from '@trinity-rft/testing';
import { BadRequestError } from 'openai';
import { describe, expect, it } from 'vitest';
import { decode, encode, modelOver, promptOf, scripted } from '../../../test/helpers.js';
import { add, call, post } from '../../../test/responses.js';

const model = 'gpt-5';
const base = { model, input: 'hi' };

describe('the OpenAI client', () => {
  it('gets a response and is recorded', async () => {
    const { model: rollout, runtime } = scripted(['<think>hm</think>4<|im_end|>']);
    await runtime.clock.advance(5000);
    const response = await rollout.openaiClient().responses.create(base);
    const sizes = { input_tokens: encode(promptOf('hi')).length, output_tokens: 6 };
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      incomplete_details: null,
      error: null,
      model: 'tiny',
      created_at: Math.floor(runtime.clock.now() / 1000),
      output_text: '4',
      output: [
        { type: 'reasoning', id: 'rs_0', summary: [{ text: 'hm' }], content: [{ text: 'hm' }] },
        {
          type: 'message',
          id: 'msg_0',
          role: 'assistant',
          content: [{ type: 'output_text', text: '4', annotations: [] }],
        },
      ],
      usage: {
        ...sizes,
        total_tokens: sizes.input_tokens + sizes.output_tokens,
        output_tokens_details: { reasoning_tokens: 2 },
      },
    });
    expect(rollout.extractExperiencesFromHistory()).toMatchObject([
      { responseText: '4', promptLength: sizes.input_tokens },
    ]);
  });

  it.each([
    ['the id of the previous response', false, true],
    ['the id of the previous response, streaming', true, true],
    ['all items', false, false],
    ['all items, streaming', true, false],
  ])('runs a tool loop of three turns on exact tokens with %s', async (_, stream, byId) => {
    const turns = [
      `<think>hm</think>so\n${call('{"b":1,  "a":2.0}')}<|im_end|>`,
      `${call('{"a":3}')}\n${call('{"a":4}')}<|im_end|>`,
      '<think>x</think> fin <|im_end|>',
      'end<|im_end|>',
    ];
    const { model: rollout, sampler } = scripted(turns);
    const { responses } = rollout.openaiClient();
    const instructions = 'Add.';
    const history: object[] = [];
    let previous: string | undefined;
    const say = async (
      items: object[],
    ): Promise<{ readonly output: readonly object[]; readonly output_text: string }> => {
      history.push(...items);
      const more = byId && previous !== undefined ? { previous_response_id: previous } : {};
      const body = {
        model,
        instructions,
        tools: [add],
        input: (byId ? items : [...history]) as never,
        ...more,
      };
      const response = stream
        ? await responses.stream(body).finalResponse()
        : await responses.create(body);
      history.push(...response.output);
      previous = response.id;
      return response;
    };
    const outputs = ({ output }: { readonly output: readonly object[] }): object[] =>
      output.flatMap((item) =>
        'call_id' in item
          ? [{ type: 'function_call_output', call_id: item.call_id, output: 'ok' }]
          : [],
      );
    const first = await say([{ role: 'user', content: 'hi' }]);
    const second = await say(outputs(first));
    const third = await say(outputs(second));
    expect([first, second].map((response) => outputs(response).length)).toEqual([1, 2]);
    expect(third.output_text).toBe(' fin ');
    await say([{ role: 'user', content: 'on' }]);
    const prompts = sampler.calls.map(({ prompt }) => decode(prompt));
    expect(prompts[1]!.startsWith(prompts[0]! + turns[0]!)).toBe(true);
    expect(prompts[2]!.startsWith(prompts[1]! + turns[1]!)).toBe(true);
    expect(prompts[3]!.startsWith(prompts[2]! + turns[2]!)).toBe(true);
    const metrics = rollout.metrics();
    expect(metrics).toMatchObject({ 'model/calls': 4, 'model/spliced': 3, 'model/tool_calls': 3 });
    expect(Object.keys(metrics).filter((name) => name.startsWith('model/fork'))).toEqual([]);
    expect(rollout.extractExperiencesFromHistory()).toHaveLength(4);
  });

  it('parses the JSON that the model was instructed to write', async () => {
    const { model: rollout, sampler } = scripted(['{"n": 3}<|im_end|>']);
    const schema = { type: 'object', properties: { n: { type: 'number' } } };
    const format = { type: 'json_schema' as const, name: 'count', schema };
    const response = await rollout.openaiClient().responses.parse({ ...base, text: { format } });
    expect(response.output_parsed).toEqual({ n: 3 });
    expect(decode(sampler.calls[0]!.prompt)).toContain(JSON.stringify(schema));
    expect(rollout.metrics()).toMatchObject({ 'model/unconstrained': 1 });
  });

  it('has the errors that its users know', async () => {
    const { model: rollout } = scripted([], { limits: { maxPromptTokens: 1 } });
    const failure = await rollout
      .openaiClient()
      .responses.create(base)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(BadRequestError);
    expect(failure).toMatchObject({ code: 'context_length_exceeded', param: 'input' });
  });

  it('gets an error after its stream has begun', async () => {
    const { promise, reject } = Promise.withResolvers<never>();
    const inner = scriptedSampler({ script: [] });
    const rollout = modelOver(
      { ...inner, policyVersion: 0, sample: () => promise },
      {
        runtime: { ...testRuntime(), clock: systemClock },
        heartbeat: { afterMs: 1, everyMs: 1 },
      },
    );
    const response = await rollout.handler(post({ ...base, stream: true }));
    expect(response.status).toBe(200);
    reject(new Error('the worker died'));
    const events = (await response.text())
      .split('\n\n')
      .filter((event) => event.startsWith('event:'));
    expect(events).toEqual([expect.stringContaining('"type":"error","sequence_number":0')]);
    expect(events[0]).toContain('the worker died');
  });
});

describe('a response that a token limit ended', () => {
  it('is incomplete, whole and as a stream', async () => {
    const { model: rollout } = scripted(['abcdefgh<|im_end|>', 'abcdefgh<|im_end|>']);
    const { responses } = rollout.openaiClient();
    const cut = {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output_text: 'abc',
    };
    expect(await responses.create({ ...base, max_output_tokens: 3 })).toMatchObject({
      ...cut,
      output: [{ status: 'incomplete' }],
    });
    const stream = responses.stream({ ...base, max_output_tokens: 3 });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types.at(-1)).toBe('response.incomplete');
    expect(await stream.finalResponse()).toMatchObject(cut);
  });
});

describe('settings of the client', () => {
  it('keep a lower limit; sampling belongs to the run and that is said once', async () => {
    const {
      model: rollout,
      sampler,
      runtime,
    } = scripted(['a<|im_end|>', 'b<|im_end|>'], {
      defaults: { temperature: 0.8, maxTokens: 100 },
    });
    const wishes = { ...base, temperature: 0, top_p: 0.1, max_output_tokens: 7 };
    const response = await rollout.openaiClient().responses.create(wishes);
    await rollout.openaiClient().responses.create(wishes);
    expect(sampler.calls[0]!.options).toMatchObject({
      temperature: 0.8,
      topP: 1,
      topK: -1,
      maxTokens: 7,
    });
    expect(response.temperature).toBe(0.8);
    expect(runtime.logger.messages('info')).toEqual([
      expect.stringContaining('The agent sets temperature, top_p.'),
    ]);
    expect(rollout.metrics()).toMatchObject({ 'model/sampling_overridden': 2 });
  });

  it('are respected for helpers, within their ranges', async () => {
    const { model: rollout, sampler } = scripted(['a<|im_end|>'], {
      clientSampling: 'respect',
      defaults: { temperature: 0.8 },
    });
    await rollout.openaiClient().responses.create({ ...base, temperature: 0, top_p: 0.5 });
    expect(sampler.calls[0]!.options).toMatchObject({ temperature: 0, topP: 0.5 });
    const refused = await rollout.handler(post({ ...base, top_p: 2 }));
    expect(await refused.json()).toMatchObject({
      error: { param: 'top_p', message: expect.stringMatching(/^top_p is 2/) as string },
    });
  });

  it('can turn tool calls off or ask for one', async () => {
    const { model: rollout, sampler } = scripted([
      `${call('{}')}<|im_end|>`,
      'a<|im_end|>',
      'b<|im_end|>',
    ]);
    const { responses } = rollout.openaiClient();
    expect(
      (await responses.create({ ...base, tools: [add], tool_choice: 'none' })).output_text,
    ).toBe(call('{}'));
    await responses.create({
      ...base,
      tools: [add],
      tool_choice: { type: 'function', name: 'add' },
    });
    expect(decode(sampler.calls[1]!.prompt)).toContain('You must call the function add.');
    await responses.create({
      ...base,
      tools: [add],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [add] },
    });
    expect(rollout.metrics()).toMatchObject({ 'model/unconstrained': 1 });
  });

  it('bring log-probabilities of the answer', async () => {
    const { model: rollout } = scripted(['a<|im_end|>']);
    const response = await rollout
      .openaiClient()
      .responses.create({ ...base, include: ['message.output_text.logprobs'] });
    const tokens = [
      { token: 'a', logprob: -0.25, bytes: [97], top_logprobs: [] },
      { token: '<|im_end|>' },
    ];
    expect(response.output).toMatchObject([{ content: [{ logprobs: tokens }] }]);
  });

  it('that frameworks send without meaning are tolerated', async () => {
    const { model: rollout } = scripted(['a<|im_end|>']);
    const junk = {
      tools: [],
      tool_choice: 'auto',
      store: null,
      metadata: { a: 'b' },
      user: 'me',
      parallel_tool_calls: false,
      text: { format: { type: 'text' }, verbosity: 'low' },
      reasoning: { effort: 'low' },
      include: [],
      truncation: 'auto',
      service_tier: 'auto',
      prompt_cache_key: 'x',
      safety_identifier: 'y',
      stream_options: { include_obfuscation: false },
      background: false,
      conversation: null,
      max_output_tokens: null,
      instructions: null,
      previous_response_id: null,
    };
    const response = await rollout.handler(post({ ...base, ...junk }));
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      metadata: { a: 'b' },
      truncation: 'auto',
      parallel_tool_calls: false,
      instructions: null,
    });
    expect(rollout.metrics()).not.toHaveProperty('model/unconstrained');
  });
});

describe('a client that disconnects', () => {
  it('and repeats its request gets the same response', async () => {
    const { model: rollout, sampler } = scripted(['a<|im_end|>']);
    const lost = await rollout.handler(post(base));
    await lost.body!.cancel();
    const again = (await (await rollout.handler(post(base))).json()) as { readonly id: string };
    expect(again).toMatchObject({ id: 'resp_0', status: 'completed' });
    expect(sampler.calls).toHaveLength(1);
    expect(rollout.extractExperiencesFromHistory()).toHaveLength(1);
  });

  it('but continues from the response had it after all', async () => {
    const { model: rollout } = scripted(['a<|im_end|>', 'b<|im_end|>']);
    const lost = await rollout.handler(post(base));
    await lost.body!.cancel();
    expect(rollout.extractExperiencesFromHistory({ clear: false })).toHaveLength(0);
    const next = await rollout.handler(post({ input: 'on', previous_response_id: 'resp_0' }));
    await next.text();
    expect(rollout.extractExperiencesFromHistory()).toHaveLength(2);
  });
});
