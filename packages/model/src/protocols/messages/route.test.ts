import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decode, scripted, type Scripted } from '../../../test/helpers.js';
import { testRuntime } from '@trinity-rft/testing';
import { openEndpointServer, type EndpointServer } from '../../http/server.js';

let server: EndpointServer;
beforeAll(async () => {
  server = await openEndpointServer({ runtime: testRuntime() });
});
afterAll(() => server.close());

interface Served extends Scripted {
  readonly client: Anthropic;
}

/** Serves the texts over HTTP, for Anthropic's SDK. */
function serve(...texts: readonly string[]): Served {
  const rollout = scripted(texts, {
    clientSampling: 'respect',
    strictFields: true,
    streamText: 'sampled',
  });
  const { baseURL, apiKey } = server.mount({ handler: (request) => rollout.model.answer(request) });
  const client = new Anthropic({ baseURL: baseURL.replace(/\/v1$/, ''), apiKey, maxRetries: 0 });
  return { ...rollout, client };
}

const tools = [
  {
    name: 'add',
    input_schema: {
      type: 'object' as const,
      properties: { b: { type: 'number' }, a: { type: 'number' } },
    },
  },
];
const call = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>';
const base = { model: 'any', max_tokens: 200 };
const uses = (...calls: readonly object[]): object => ({
  role: 'assistant',
  content: calls.map((use) => ({ type: 'tool_use', name: 'add', input: {}, ...use })),
});
const result = (id: unknown, isError?: unknown, content = 'it says'): object => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content, is_error: isError }],
});

describe('the Messages API, with its own client', () => {
  it('answers with text, its usage and why it stopped', async () => {
    const { client, sampler } = serve('four<|im_end|>', 'a lot of words', 'half STOP');
    const ask = (more: object): Promise<Anthropic.Message> =>
      client.messages.create({
        ...base,
        messages: [{ role: 'user', content: '2+2?' }],
        stream: false,
        ...more,
      });
    expect(await ask({ system: 'Be brief.', temperature: 0.5, top_p: 0.9 })).toMatchObject({
      type: 'message',
      model: 'tiny',
      content: [{ type: 'text', text: 'four' }],
      stop_reason: 'end_turn',
      usage: { output_tokens: 5 },
    });
    expect(sampler.calls[0]?.options).toMatchObject({ temperature: 0.5, topP: 0.9 });
    expect(decode(sampler.calls[0]!.prompt)).toContain('system\nBe brief.');
    expect(await ask({ max_tokens: 5 })).toMatchObject({ stop_reason: 'max_tokens' });
  });

  it.each([false, true])(
    'goes through a tool loop on the recorded tokens (streamed: %s)',
    async (streamed) => {
      const first = `<think>\nhm\n</think>\n\nI add.\n${call}<|im_end|>`;
      const { client, model, sampler } = serve(first, '3<|im_end|>');
      const create = (messages: Anthropic.MessageParam[]): Promise<Anthropic.Message> =>
        streamed
          ? client.messages.stream({ ...base, messages, tools }).finalMessage()
          : client.messages.create({ ...base, messages, tools });
      const question = { role: 'user' as const, content: '1+2?' };
      const answer = await create([question]);
      expect(answer).toMatchObject({
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'text', text: 'I add.' },
          { type: 'tool_use', name: 'add', input: { a: 1, b: 2 } },
        ],
        stop_reason: 'tool_use',
      });
      const use = answer.content.find((block) => block.type === 'tool_use');
      const result = { type: 'tool_result' as const, tool_use_id: use?.id ?? '', content: '3' };
      const last = await create([
        question,
        { role: 'assistant', content: answer.content },
        { role: 'user', content: [result] },
      ]);
      expect(last.content).toMatchObject([{ type: 'text', text: '3' }]);
      // The second prompt begins with the first and what was sampled then.
      const [one, two] = sampler.calls.map(({ prompt }) => decode(prompt));
      expect(two?.startsWith(`${one}${first}`)).toBe(true);
      expect(model.metrics()).toMatchObject({ 'model/calls': 2, 'model/spliced': 1 });
      expect(model.extractExperiencesFromHistory()).toHaveLength(2);
    },
  );

  it('streams thinking and text as they are sampled', async () => {
    const { client } = serve('<think>\nhm\n</think>\n\nso far<|im_end|>');
    const stream = await client.messages.create({
      ...base,
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
    });
    const seen: string[] = [];
    for await (const event of stream)
      seen.push(
        event.type === 'content_block_delta' ? `${event.index} ${event.delta.type}` : event.type,
      );
    expect([...new Set(seen)]).toEqual([
      'message_start',
      'content_block_start',
      '0 thinking_delta',
      '0 signature_delta',
      'content_block_stop',
      '1 text_delta',
      'message_delta',
      'message_stop',
    ]);
    expect(seen.filter((type) => type === '1 text_delta').length).toBeGreaterThan(3);
  });

  it('counts the tokens of a prompt, and records nothing', async () => {
    const { client, model } = serve('four<|im_end|>');
    const messages = [{ role: 'user' as const, content: '2+2?' }];
    const asked = { model: 'any', system: 'Be brief.', messages, tools };
    const { input_tokens } = await client.messages.countTokens(asked);
    expect(model.extractExperiencesFromHistory()).toEqual([]);
    const { usage } = await client.messages.create({ ...asked, max_tokens: 5 });
    expect(input_tokens).toBe(usage.input_tokens);
  });

  it.each(['no key', 'a wrong key', 'another method'])(
    'refuses %s in the words of its API',
    async (what) => {
      const { client } = serve();
      const { baseURL, apiKey } = client;
      const url = `${baseURL}/v1/messages`;
      const headers: Record<string, string> =
        what === 'no key' ? {} : { 'x-api-key': what === 'a wrong key' ? 'wrong' : `${apiKey}` };
      const method = what === 'another method' ? 'GET' : 'POST';
      const response = await fetch(url, { method, headers });
      expect(await response.json()).toMatchObject({
        type: 'error',
        error: { type: method === 'GET' ? 'invalid_request_error' : 'authentication_error' },
      });
    },
  );

  it('rejects what it cannot do in the words of its API', async () => {
    const { client, sampler } = serve();
    const failure = async (more: object): Promise<unknown> =>
      client.messages
        .create({ ...base, system: 's', messages: [{ role: 'user', content: 'hi' }], ...more })
        .catch((error: unknown) => error);
    const nested: unknown = JSON.parse('['.repeat(120) + ']'.repeat(120));
    const image = { type: 'image', source: { type: 'url', url: 'http://x' } };
    for (const [more, words] of [
      [
        { messages: [{ role: 'user', content: [image] }] },
        'messages[0].content[0].type is "image"',
      ],
      [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0].type'],
      [{ frobnicate: 1 }, 'frobnicate is not a field'],
      [{ thinking: { type: 'odd' } }, 'thinking.type'],
      [{ messages: [] }, 'messages is empty'],
      [{ messages: undefined }, 'messages is missing'],
      [{ messages: [uses({ id: 'a', name: '' })] }, 'messages[0].content[0].name is ""'],
      [
        { messages: [uses({ id: 'a', input: { a: nested } })] },
        'messages[0].content[0].input is nested deeper than 120 levels',
      ],
      [{ messages: [result('q')] }, 'messages[0].content[0].tool_use_id is "q"'],
      [
        { messages: [uses({ id: 'a' }), { role: 'user', content: [] }, result(7)] },
        'messages[2].content[0].tool_use_id is 7',
      ],
      [{ messages: [uses({ id: 'a' }, { id: 'a' })] }, 'messages[0].content[1].id is "a" again'],
      [{ messages: [uses({ id: 'a', name: 7 })] }, 'messages[0].content[0].name is 7'],
      [{ messages: [uses({ id: 'a' }), result('a', 'yes')] }, 'content[0].is_error is "yes"'],
      [{ tools: [{ name: 'x', input_schema: [1] }] }, 'tools[0].input_schema is [1]'],
      [{ tools: [{ name: 'x', description: 4, input_schema: {} }] }, 'tools[0].description is 4'],
    ] as const) {
      const error = await failure(more);
      expect(error).toBeInstanceOf(APIError);
      expect(error).toMatchObject({
        status: 400,
        error: {
          type: 'error',
          error: {
            type: 'invalid_request_error',
            message: expect.stringContaining(words) as string,
          },
        },
      });
    }
    expect(sampler.calls).toEqual([]);
  });

  it('shows the model which tool calls failed', async () => {
    const { client, sampler } = serve('a<|im_end|>');
    const messages = [
      uses({ id: 'a' }, { id: 'b' }, { id: 'c' }),
      ...[result('a', true), result('b', false), result('c', true, 'Error: it says')],
    ];
    await client.messages.create({ ...base, messages: messages as never });
    const prompt = decode(sampler.calls[0]!.prompt);
    const [error, none] = ['Error: it says', 'it says'];
    expect(prompt.match(/(Error: )*it says/g)).toEqual([error, none, error]);
  });
});
