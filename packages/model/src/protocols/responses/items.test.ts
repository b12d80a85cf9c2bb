import { describe, expect, it } from 'vitest';
import { decode, encode, promptOf, scripted } from '../../../test/helpers.js';
import { add, call, post } from '../../../test/responses.js';

const user = { role: 'user', content: 'hi' };
const output = { type: 'function_call_output', call_id: 'c', output: 'ok' };
const made = { type: 'function_call', call_id: 'c', name: 'add', arguments: '{}' };

async function prompt(input: unknown, more: object = {}): Promise<string> {
  const { model, sampler } = scripted(['a<|im_end|>']);
  const response = await model.handler(post({ input, ...more }));
  expect(await response.text()).toContain('"completed"');
  return decode(sampler.calls[0]!.prompt);
}

describe('items', () => {
  it.each([
    ['text', 'hi'],
    ['a message without a type', [user]],
    [
      'parts',
      [
        {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_text', text: 'hi', prompt_cache_breakpoint: {} }],
        },
      ],
    ],
  ])('of the user can be %s', async (_, input) => {
    expect(await prompt(input)).toBe(promptOf('hi'));
  });

  it('of one turn are one message', async () => {
    const reasoning = {
      type: 'reasoning',
      id: 'x',
      summary: [{ type: 'summary_text', text: 'hm' }],
    };
    const said = {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'so', annotations: [] }],
    };
    const parts = [
      { type: 'input_text', text: 'o' },
      { type: 'input_text', text: 'k' },
    ];
    const whole = await prompt([user, reasoning, said, made, { ...output, output: parts }], {
      tools: [add],
    });
    expect(whole).toContain(
      '<|im_start|>assistant\n<think>\nhm\n</think>\n\nso\n<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call><|im_end|>',
    );
    expect(whole).toContain('<tool_response>\no\nk\n</tool_response>');
  });

  it('begin with the instructions of the request', async () => {
    expect(await prompt('hi', { instructions: 'Be good.' })).toBe(
      `<|im_start|>system\nBe good.<|im_end|>\n${promptOf('hi')}`,
    );
    expect(await prompt([{ role: 'developer', content: 'Be good.' }, user])).toBe(
      await prompt('hi', { instructions: 'Be good.' }),
    );
  });

  it('do not inherit the instructions of earlier requests', async () => {
    const { model, sampler } = scripted(['a<|im_end|>', 'b<|im_end|>']);
    const { responses } = model.openaiClient();
    const { id } = await responses.create({ model: 'm', input: 'hi', instructions: 'Be good.' });
    await responses.create({ model: 'm', input: 'on', previous_response_id: id });
    expect(decode(sampler.calls[1]!.prompt).startsWith('<|im_start|>user\nhi')).toBe(true);
  });

  it('show tools in the order of the client, without strict', async () => {
    expect(await prompt('hi', { tools: [add] })).toContain(
      '{"name": "add", "parameters": {"type": "object", "properties": {"b": {"type": "number"}, "a": {"type": "number"}}}}}',
    );
  });

  it('can be references to all that was said', async () => {
    const { model, sampler } = scripted([
      `<think>hm</think>so\n${call('{"a":1}')}<|im_end|>`,
      'b<|im_end|>',
      'c<|im_end|>',
    ]);
    const { responses } = model.openaiClient();
    const options = { model: 'm', tools: [add] };
    const input = [
      { type: 'message' as const, id: 'mine', role: 'user' as const, content: 'hi' },
    ] as never;
    const first = await responses.create({ ...options, input });
    const ids = ['mine', ...first.output.map(({ id }) => id!)];
    const answer = { type: 'function_call_output' as const, call_id: 'call_0_0_0', output: 'ok' };
    await responses.create({
      ...options,
      input: [...ids.map((id) => ({ type: 'item_reference' as const, id })), answer],
    });
    await responses.create({ ...options, input: [...ids.map((id) => ({ id })), answer] });
    const begin = [
      ...sampler.calls[0]!.prompt,
      ...encode(`<think>hm</think>so\n${call('{"a":1}')}<|im_end|>`),
    ];
    expect([...sampler.calls[1]!.prompt].slice(0, begin.length)).toEqual(begin);
    expect(sampler.calls[2]!.prompt).toEqual(sampler.calls[1]!.prompt);
    expect(model.metrics()).toMatchObject({ 'model/spliced': 2 });
  });

  it('written here go before those of clients with the same id', async () => {
    const { model, sampler } = scripted(['ours<|im_end|>', 'b<|im_end|>']);
    const { responses } = model.openaiClient();
    const old = { type: 'message', id: 'msg_0', role: 'user', content: 'theirs' };
    await responses.create({ model: 'm', input: [old] as never });
    await responses.create({
      model: 'm',
      input: [{ ...old, id: 'x' }, { type: 'item_reference', id: 'msg_0' }, user] as never,
    });
    expect(decode(sampler.calls[1]!.prompt)).toContain('assistant\nours<|im_end|>');
    expect(model.metrics()).toMatchObject({ 'model/spliced': 1 });
  });

  it('of reasoning are known by their id', async () => {
    const { model } = scripted(['<think>hm</think>so<|im_end|>', 'b<|im_end|>']);
    const { responses } = model.openaiClient();
    const { output: said } = await responses.create({ model: 'm', input: 'hi' });
    const bare = { type: 'reasoning', id: said[0]!.id, summary: [] };
    await responses.create({
      model: 'm',
      input: [user, bare, said[1]!, { role: 'user', content: 'on' }] as never,
    });
    expect(model.metrics()).toMatchObject({ 'model/spliced': 1 });
  });
});

describe('refusals', () => {
  const image = {
    role: 'user',
    content: [
      { type: 'input_text', text: 'see' },
      { type: 'input_image', image_url: 'x' },
    ],
  };

  it.each([
    ['input', { input: 5 }],
    ['input', { input: undefined }],
    ['input', { input: [] }],
    ['input[0]', { input: ['hi'] }],
    ['input[1].type', { input: [user, { type: 'web_search_call', id: 'ws' }] }],
    ['input[0].type', { input: [{ content: 'hi' }] }],
    ['input[0].role', { input: [{ role: 'tool', content: 'hi' }] }],
    ['input[0].content', { input: [{ role: 'user', content: 5 }] }],
    ['input[0].content[1].type', { input: [image] }],
    ['input[1].id', { input: [user, { type: 'item_reference', id: 'nobody' }] }],
    ['input[0].id', { input: [{ type: 'item_reference' }] }],
    [
      'input[0].id',
      {
        input: [
          { type: 'item_reference', id: 'self' },
          { ...user, id: 'self' },
        ],
      },
    ],
    ['input[1].call_id', { input: [user, output] }],
    [
      'input[1].call_id',
      { input: [output, made].toReversed().with(1, { ...output, call_id: 'd' }) },
    ],
    ['input[2].call_id', { input: [user, made, made] }],
    ['input[0].call_id', { input: [{ ...made, call_id: 7 }] }],
    ['input[0].arguments', { input: [{ ...made, arguments: {} }] }],
    ['input[1].output', { input: [made, { ...output, output: null }] }],
    ['input[1].output[0].type', { input: [made, { ...output, output: [{ type: 'input_file' }] }] }],
    ['input[0].summary', { input: [{ type: 'reasoning', summary: 'hm' }] }],
    [
      'input[0].content[0].text',
      { input: [{ type: 'reasoning', content: [{ type: 'reasoning_text' }] }] },
    ],
    ['input[0].encrypted_content', { input: [{ type: 'reasoning', encrypted_content: 1 }] }],
    ['instructions', { instructions: [] }],
    ['tools', { tools: {} }],
    ['tools[0].type', { tools: [{ type: 'web_search' }] }],
    ['tools[1].name', { tools: [add, { type: 'function', function: { name: 'nested' } }] }],
    ['tool_choice', { tools: [add], tool_choice: { type: 'file_search' } }],
    ['tool_choice.name', { tools: [add], tool_choice: { type: 'function', name: 'sub' } }],
    ['background', { background: true }],
    ['conversation', { conversation: 'conv_1' }],
    ['prompt', { prompt: { id: 'p' } }],
    ['audio', { audio: {} }],
    ['context_management', { context_management: [{ type: 'compaction' }] }],
    ['max_output_tokens', { max_output_tokens: 0 }],
    ['temperature', { temperature: 'hot' }],
    ['top_logprobs', { include: ['message.output_text.logprobs'], top_logprobs: 21 }],
    ['text', { text: 'json' }],
    ['text.format.type', { text: { format: { type: 'grammar' } } }],
    ['stream', { stream: 'yes' }],
    ['store', { store: 'no' }],
    ['include', { include: 'all' }],
    ['metadata', { metadata: 5 }],
    ['previous_response_id', { previous_response_id: {} }],
  ])('name %s', async (param, change) => {
    const { model, sampler } = scripted([]);
    const response = await model.handler(post({ input: 'hi', ...change }));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        type: 'invalid_request_error',
        param,
        message: expect.stringContaining(param) as string,
      },
    });
    expect(sampler.calls).toEqual([]);
  });

  it('name items of the previous response that are sent again', async () => {
    const { model } = scripted([`${call('{}')}<|im_end|>`]);
    const { responses } = model.openaiClient();
    const first = await responses.create({ model: 'm', input: 'hi', tools: [add] });
    const again = responses.create({
      model: 'm',
      input: first.output as never,
      previous_response_id: first.id,
    });
    await expect(again).rejects.toMatchObject({ status: 400, param: 'input[0].call_id' });
  });
});
