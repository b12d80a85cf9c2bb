import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scripted, tools } from '../../../test/helpers.js';

const messages = [{ role: 'user', content: 'hi' }];
const base = { model: 'gpt-5', messages };
const json = 'application/json';

interface Sent {
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  readonly type?: string;
  readonly path?: string;
  readonly method?: string;
}

function request({
  body,
  type = json,
  path = '/v1/chat/completions',
  method = 'POST',
}: Sent): Request {
  return new Request(`http://host${path}`, {
    method,
    headers: { 'content-type': type },
    ...(body !== undefined && { body, duplex: 'half' }),
  });
}

const chat = (change: object): Sent => ({ body: JSON.stringify({ ...base, ...change }) });
const text = (change: object): Sent => ({ body: JSON.stringify(change), path: '/v1/completions' });
const assistant = (...ids: readonly unknown[]): object => ({
  role: 'assistant',
  tool_calls: ids.map((id) => ({
    id,
    type: 'function',
    function: { name: 'add', arguments: '{}' },
  })),
});
const result = (id: unknown): object => ({ role: 'tool', content: '1', tool_call_id: id });
const deepCall = (depth: number): object => ({
  role: 'assistant',
  tool_calls: [
    {
      id: 'a',
      type: 'function',
      function: { name: 'add', arguments: `{"a": ${'['.repeat(depth)}${']'.repeat(depth)}}` },
    },
  ],
});
const nested = (depth: number): string => `{"messages": ${'['.repeat(depth)}${']'.repeat(depth)}}`;

/** Body that never ends. */
function endless(): ReadableStream<Uint8Array> {
  const piece = new TextEncoder().encode(' '.repeat(1_000_000));
  return new ReadableStream(
    { pull: (controller) => controller.enqueue(piece) },
    { highWaterMark: 0 },
  );
}

const cases: readonly [
  name: string,
  sent: Sent,
  status: number,
  param: string | null,
  words: string,
][] = [
  ['an empty body', { body: '' }, 400, 'body', 'line 1, column 1'],
  ['half a document', { body: '{"model": "x",\n "messages": [' }, 400, 'body', 'line 2, column 15'],
  ['a word that is no JSON', { body: '{"a": x}' }, 400, 'body', 'line 1, column 7'],
  ['a list', { body: '[]' }, 400, 'body', 'a chat completion request'],
  ['null', { body: 'null' }, 400, 'body', 'null'],
  ['bytes that are no text', { body: new Uint8Array([0xff, 0xfe, 0x7b]) }, 400, 'body', 'UTF-8'],
  [
    'a form',
    { body: 'model=x&messages=y', type: 'application/x-www-form-urlencoded' },
    415,
    'body',
    'application/json',
  ],
  ['brackets without end', { body: nested(100_000) }, 400, 'body', 'is nested deeper than 128'],
  [
    'brackets without end in the arguments of a call',
    chat({ messages: [...messages, deepCall(500_000), result('a')] }),
    400,
    'messages[1].tool_calls[0].function.arguments',
    'is nested deeper than 120',
  ],
  ['a body beyond the limit', { body: endless() }, 413, 'body', '20000000 bytes'],
  ['another method', { method: 'PUT', body: '{}' }, 405, null, 'POST .../v1/chat/completions'],
  ['another path', { path: '/v1/embeddings', body: '{}' }, 404, null, '/v1/embeddings'],
  ['messages that are no list', chat({ messages: { 0: {} } }), 400, 'messages', 'a list'],
  ['no messages', chat({ messages: [] }), 400, 'messages', 'at least one'],
  ['a message that is no object', chat({ messages: ['hi'] }), 400, 'messages[0]', 'a chat message'],
  [
    'a role of the prototype',
    chat({ messages: [{ role: 'constructor' }] }),
    400,
    'messages[0].role',
    'constructor',
  ],
  [
    'content of a wrong type',
    chat({ messages: [{ role: 'user', content: 7 }] }),
    400,
    'messages[0].content',
    'a string',
  ],
  [
    'a part of a wrong type',
    chat({ messages: [...messages, { role: 'user', content: [{ type: 'text', text: {} }] }] }),
    400,
    'messages[1].content[0].text',
    'text',
  ],
  [
    'an image',
    chat({
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }],
    }),
    400,
    'messages[0].content[0].type',
    'no images',
  ],
  [
    'a sound',
    chat({ messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }),
    400,
    'messages[0].content[0].type',
    'audio',
  ],
  [
    'the result of an unknown call',
    chat({ messages: [...messages, result('call_9')] }),
    400,
    'messages[1].tool_call_id',
    'call_9',
  ],
  [
    'a result before its call',
    chat({ messages: [...messages, result('a'), assistant('a')] }),
    400,
    'messages[1].tool_call_id',
    'no earlier message calls',
  ],
  [
    'one id for two calls',
    chat({ messages: [...messages, assistant('a', 'a')] }),
    400,
    'messages[1].tool_calls[1].id',
    'again',
  ],
  [
    'an id that is no string',
    chat({ messages: [...messages, assistant(7)] }),
    400,
    'messages[1].tool_calls[0].id',
    'a string',
  ],
  ['tools that are no list', chat({ tools: {} }), 400, 'tools', 'a list'],
  ['a hosted tool', chat({ tools: [{ type: 'web_search' }] }), 400, 'tools[0].type', 'hosted'],
  [
    'a tool without a function',
    chat({ tools: [{ type: 'function', function: 'add' }] }),
    400,
    'tools[0].function.name',
    'name',
  ],
  [
    'parameters that are no schema',
    chat({ tools: [{ type: 'function', function: { name: 'f', parameters: 'x' } }] }),
    400,
    'tools[0].function.parameters',
    'JSON Schema',
  ],
  [
    'the choice of an unknown tool',
    chat({ tools, tool_choice: { type: 'function', function: { name: 'sub' } } }),
    400,
    'tool_choice.function.name',
    'one of the tools: add',
  ],
  [
    'a choice of tools',
    chat({ tools, tool_choice: { type: 'allowed_tools' } }),
    400,
    'tool_choice',
    'required',
  ],
  [
    'a format that is no object',
    chat({ response_format: 'json' }),
    400,
    'response_format',
    'a type',
  ],
  ['n beyond all measure', chat({ n: 1e9 }), 400, 'n', 'from 1 to 128'],
  ['stream that is no flag', chat({ stream: 'yes' }), 400, 'stream', 'true or false'],
  ['stop strings of a wrong type', chat({ stop: ['a', 3] }), 400, 'stop[1]', 'a string'],
  [
    'alternatives without end',
    chat({ logprobs: true, top_logprobs: 10_000 }),
    400,
    'top_logprobs',
    'from 0 to 20',
  ],
  ['a temperature that is no number', chat({ temperature: 'hot' }), 400, 'temperature', 'a number'],
  ['text without a prompt', text({}), 400, 'prompt', 'is missing'],
  ['two prompts', text({ prompt: ['a', 'b'] }), 400, 'prompt', 'one prompt per call'],
  ['a token that does not exist', text({ prompt: [1, 1e9] }), 400, 'prompt[1]', 'a token id below'],
  ['an echo', text({ prompt: 'a', echo: true }), 400, 'echo', 'not repeated'],
];

describe('a malformed request', () => {
  it.each(cases)('with %s is rejected and nothing else', async (_, sent, status, param, words) => {
    const { model, sampler } = scripted(['fine<|im_end|>']);
    const response = await model.handler(request(sent));
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([status, 'false']);
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    expect(error).toEqual({
      message: expect.any(String) as string,
      type: 'invalid_request_error',
      param,
      code: expect.any(String) as string,
    });
    expect(error['message']).toContain(words);
    expect(sampler.calls).toEqual([]);
    const good = await model.handler(request(chat({})));
    expect(good.status).toBe(200);
    expect(await good.json()).toMatchObject({ choices: [{ message: { content: 'fine' } }] });
    expect(model.extractExperiencesFromHistory()).toHaveLength(1);
  });

  it('names the methods that are allowed', async () => {
    const response = await scripted([]).model.handler(request({ method: 'GET' }));
    expect(response.headers.get('allow')).toBe('POST');
  });

  it('is rejected by its announced length before it is read', async () => {
    const { model } = scripted([], { maxBodyBytes: 10 });
    const sent = new Request('http://host/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-length': '11' },
      body: '{}',
    });
    expect((await model.handler(sent)).status).toBe(413);
    expect(sent.bodyUsed).toBe(false);
  });

  it('that stops arriving is given up', async () => {
    const { model, runtime } = scripted([], { bodyTimeoutMs: 500 });
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({ cancel: () => void (cancelled = true) });
    const response = model.handler(request({ body }));
    await runtime.clock.advance(500);
    expect((await response).status).toBe(408);
    expect(cancelled).toBe(true);
    expect(runtime.clock.sleeping).toBe(0);
  });

  it('changes no prototype', async () => {
    const { model } = scripted(['a<|im_end|>']);
    const body = `{"__proto__": {"n": 7}, "constructor": {"prototype": {"n": 7}}, "messages": [{"role": "user", "content": "hi", "__proto__": {"role": "tool"}}],
      "tools": [{"type": "function", "function": {"name": "f", "__proto__": {"x": 1}, "parameters": {"__proto__": {"y": 1}}}}]}`;
    expect((await model.handler(request({ body }))).status).toBe(200);
    expect(({} as Record<string, unknown>)['n']).toBeUndefined();
    expect(model.extractExperiencesFromHistory()).toHaveLength(1);
  });
});

/** Names of real fields, so that random bodies pass the first check. */
const names = fc.constantFrom(
  ...[
    'messages',
    'tools',
    'tool_choice',
    'response_format',
    'stop',
    'n',
    'stream',
    'stream_options',
    'logprobs',
    'top_logprobs',
  ],
  ...[
    'max_tokens',
    'max_completion_tokens',
    'temperature',
    'role',
    'content',
    'type',
    'text',
    'function',
    'name',
    'arguments',
    'prompt',
  ],
  ...[
    'parameters',
    'tool_calls',
    'tool_call_id',
    'id',
    'json_schema',
    'schema',
    'reasoning',
    '__proto__',
    'toString',
    'echo',
    'include_usage',
  ],
);
const words = fc.constantFrom(
  'user',
  'assistant',
  'tool',
  'system',
  'function',
  'json_schema',
  'text',
  'add',
  'required',
  '{}',
  '',
);
const { value: junk } = fc.letrec<{ value: unknown; key: string }>((tie) => ({
  key: fc.oneof({ weight: 5, arbitrary: names }, fc.string()),
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'medium' },
    fc.oneof(
      words,
      fc.string({ unit: 'binary' }),
      fc.integer(),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(tie('key') as fc.Arbitrary<string>, tie('value'), { maxKeys: 6 }),
  ),
}));
const message = fc.record(
  { role: words, content: junk, tool_calls: junk, tool_call_id: words },
  { requiredKeys: ['role'] },
);
const plain = fc.record({
  role: fc.constantFrom('user', 'system', 'developer'),
  content: fc.string(),
  name: junk,
});
const bodies = fc.oneof(
  junk,
  // Bodies that are almost valid.
  fc
    .tuple(
      fc.dictionary(names, junk, { maxKeys: 1 }),
      fc.array(plain, { minLength: 1, maxLength: 3 }),
      fc.string({ minLength: 1 }),
    )
    .map(([fields, sent, prompt]) => (bare: string) => ({
      messages: sent,
      [bare]: prompt,
      ...fields,
    })),
  fc
    .tuple(fc.dictionary(names, junk), fc.array(message, { maxLength: 4 }))
    .map(([fields, sent]) => ({ ...fields, messages: sent })),
);

describe('any body', () => {
  it.each(['/v1/chat/completions', '/v1/completions', '/v1/responses'])(
    'at %s gets an answer that is no fault of ours, and is recorded only with status 200',
    async (path) => {
      const seen = new Set<number>();
      await fc.assert(
        fc.asyncProperty(bodies, async (made) => {
          const value =
            typeof made === 'function'
              ? made(path.endsWith('responses') ? 'input' : 'prompt')
              : made;
          const { model } = scripted(Array.from({ length: 200 }, () => 'a<|im_end|>'));
          const response = await model.handler(request({ body: JSON.stringify(value), path }));
          const answer = await response.text();
          seen.add(response.status);
          expect([200, 400, 404]).toContain(response.status);
          expect(
            response.status === 200 ||
              typeof (JSON.parse(answer) as { error: { message: string } }).error.message ===
                'string',
          ).toBe(true);
          expect(model.extractExperiencesFromHistory().length > 0).toBe(response.status === 200);
        }),
        { numRuns: 400 },
      );
      expect([...seen]).toEqual(expect.arrayContaining([200, 400]));
    },
  );

  it('of any bytes is rejected', async () => {
    const { model } = scripted([]);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const response = await model.handler(request({ body: Uint8Array.from(bytes) }));
        expect(response.status).toBe(400);
        await response.text();
      }),
      { numRuns: 200 },
    );
  });
});
