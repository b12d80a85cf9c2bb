import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { createRemoteModel } from './remote-model.js';
import { type RemoteModelOptions } from './remote-call.js';

const close: (() => void)[] = [];
afterEach(() => close.splice(0).forEach((end) => end()));

interface Seen {
  readonly authorization: string | undefined;
  readonly body: Record<string, unknown>;
}

/** A service on HTTP; each request gets the next status and body. */
async function serve(
  replies: readonly (readonly [status: number, body: unknown, type?: string] | 'silence')[],
  over: Partial<RemoteModelOptions> = {},
) {
  const seen: Seen[] = [];
  /** Number of requests that wait for an answer. */
  let open = 0;
  const listen = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = JSON.parse(await text(request)) as Record<string, unknown>;
    const reply = replies[seen.length] ?? [500, {}];
    seen.push({ authorization: request.headers.authorization, body });
    if (reply === 'silence') {
      open++;
      response.on('close', () => open--);
      return;
    }
    const [status, answer, type] = reply;
    const isPage = typeof answer === 'string';
    response
      .writeHead(status, {
        'content-type': type ?? (isPage ? 'text/html; charset=utf-8' : 'application/json'),
      })
      .end(isPage ? answer : JSON.stringify(answer));
  };
  const server = createServer((request, response) => void listen(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  close.push(() => (server.closeAllConnections(), server.close()));
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return {
    seen,
    open: () => open,
    model: createRemoteModel({
      baseURL,
      apiKey: 'key-of-mine',
      modelPath: 'big',
      timeoutMs: 60_000,
      maxRetries: 0,
      ...over,
    }),
  };
}

const message = { role: 'assistant', content: 'hello', refusal: null };
const completion = { choices: [{ index: 0, finish_reason: 'length', message }] };
const ask = [{ role: 'user' as const, content: 'hi' }];

describe('createRemoteModel', () => {
  it('uses the other name of max_tokens where the service asks for it', async () => {
    const message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
    const { model, seen } = await serve([
      [400, { error: { message, type: 'invalid_request_error' } }],
      [200, completion],
    ]);
    await model.chat(ask, { maxTokens: 5 });
    const { body } = seen[1]!;
    expect(body).toEqual({ model: 'big', messages: ask, max_completion_tokens: 5 });
  });

  it('asks a service that ignores n for each missing answer', async () => {
    const { model, seen } = await serve([1, 2, 3].map(() => [200, completion] as const));
    expect(await model.chat(ask, { n: 3 })).toHaveLength(3);
    expect(seen.map(({ body }) => body['n'])).toEqual([3, undefined, undefined]);
  });

  it('asks no more once a service has failed or has answered nothing', async () => {
    const broken = await serve([[200, completion], 'silence', 'silence', [400, {}]], { timeoutMs: 600_000 }); // prettier-ignore
    await expect(broken.model.chat(ask, { n: 4 })).rejects.toMatchObject({ status: 400 });
    await expect.poll(broken.open).toBe(0);
    const empty = await serve([[200, { ...completion, choices: [] }]]);
    await expect(empty.model.chat(ask, { n: 4 })).rejects.toThrow('an empty list of choices');
    expect(empty.seen).toHaveLength(1);
  });

  it('sends tools that the model may not call with tool_choice none', async () => {
    const { model, seen } = await serve([[200, completion]]);
    const tool = { type: 'function', function: { name: 'add' } } as const;
    await model.chat(ask, { tools: [tool], toolChoice: 'none' });
    expect(seen[0]?.body).toEqual({
      model: 'big',
      messages: ask,
      tools: [tool],
      tool_choice: 'none',
    });
  });

  it.each([
    [
      'chat/completions',
      { messages: ask },
      { max_tokens: 9, chat_template_kwargs: { enable_thinking: false } },
    ],
    [
      'chat/completions',
      { messages: ask, max_completion_tokens: 4 },
      { chat_template_kwargs: { enable_thinking: false } },
    ],
    ['completions', { prompt: 'hi' }, { max_tokens: 9 }],
    ['responses', { input: 'hi' }, { max_output_tokens: 9 }],
    [
      'messages',
      { messages: ask, max_tokens: 4 },
      { chat_template_kwargs: { enable_thinking: false } },
    ],
  ])('sends its settings to %s for every client', async (path, body, added) => {
    const { model, seen } = await serve(
      [
        [200, {}],
        [200, {}],
        [200, {}],
      ],
      {
        defaults: { temperature: 0.2, maxTokens: 9, topP: 0.5 },
        enableThinking: false,
      },
    );
    const { fetch, baseURL } = model.endpoint();
    const init = { method: 'POST', body: JSON.stringify(body) };
    await fetch(`${baseURL}/${path}`, init);
    await fetch(new Request(`${baseURL}/${path}`, init));
    await fetch(`${baseURL}/${path}`, {
      ...init,
      body: JSON.stringify({ ...body, temperature: 0 }),
    });
    const all = { ...body, temperature: 0.2, top_p: 0.5, ...added };
    expect(seen.map((each) => each.body)).toEqual([all, all, { ...all, temperature: 0 }]);
  });

  it('sends its settings with the openai client, and the other name of the limit', async () => {
    const refusal = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
    const { model, seen } = await serve(
      [
        [400, { error: { message: refusal } }],
        [200, completion],
      ],
      {
        defaults: { temperature: 0.2, maxTokens: 9 },
      },
    );
    await model.openaiClient().chat.completions.create({ model: 'big', messages: ask });
    expect(seen[1]?.body).toEqual({
      model: 'big',
      messages: ask,
      temperature: 0.2,
      max_completion_tokens: 9,
    });
  });

  it('asks the service with its key and settings, and knows no tokens', async () => {
    const { model, seen } = await serve([[200, completion]], {
      defaults: { temperature: 0.2, maxTokens: 9, topP: 1 },
    });
    const [response] = await model.chat(ask, { maxTokens: 5, stop: ['\n'] });
    expect(seen).toEqual([
      {
        authorization: 'Bearer key-of-mine',
        body: { model: 'big', messages: ask, temperature: 0.2, max_tokens: 5, stop: ['\n'] },
      },
    ]);
    expect(response).toMatchObject({
      responseText: 'hello',
      finishReason: 'length',
      promptLength: 0,
      policyVersion: -1,
    });
    expect([response!.tokens.length, response!.logprobs.length]).toEqual([0, 0]);
  });

  it('repeats what may pass', async () => {
    const { model, seen } = await serve([[503, {}], [200, completion]], { maxRetries: 1 }); // prettier-ignore
    expect(await model.chat(ask)).toHaveLength(1);
    expect(seen).toHaveLength(2);
  });

  it('names the model that rejected the call, without the key', async () => {
    const { model } = await serve([
      [401, { error: { message: 'Incorrect API key provided: key-of-mine.' } }],
    ]);
    const error = await model.chat(ask).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: 'ModelError', status: 401, retryable: false });
    expect(String((error as Error).message)).toContain('"big" at 127.0.0.1');
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('key-of-mine');
  });

  const withChoice = (choice: unknown) => ({ choices: [{ finish_reason: 'stop', ...(choice as object) }] }); // prettier-ignore
  const broken = '<html>key-of-mine';

  it.each([
    [
      'an error',
      { error: { message: 'Quota of key-of-mine gone.', code: 402 } },
      402,
      'an error: Quota of [redacted] gone.',
    ],
    ['an error that is a text', { error: 'overloaded' }, 502, 'an error: overloaded.'],
    [
      'an error in a list',
      [{ error: { message: 'Bad key.', code: 400 } }],
      400,
      'an error: Bad key.',
    ],
    [
      'an error of a choice',
      withChoice({ message, error: { message: 'Gone.\n', code: 503 } }),
      503,
      'an error: Gone.',
    ],
    ['no choices', { object: 'list' }, 502, 'no choices (check base_url): {"object":"list"}.'],
    ['null', null, 502, 'no choices (check base_url): null.'],
    ['an empty list', { choices: [] }, 502, 'an empty list of choices: {"choices":[]}.'],
    ['a choice of another API', withChoice({ text: 'hi' }), 502, 'a choice without a message: '],
    [
      'a number',
      withChoice({ message: { content: 42 } }),
      502,
      'a message in another format: {"content":42}.',
    ],
    [
      'tool calls that are no list',
      withChoice({ message: { tool_calls: {} } }),
      502,
      'a message in another format: ',
    ],
    [
      'a tool call without a name',
      withChoice({ message: { tool_calls: [{ type: 'function' }] } }),
      502,
      'a tool call without a name: ',
    ],
    ['broken JSON', broken, 502, 'something that is not JSON: '],
  ])('names the model that answered with %s, and what came', async (_, body, status, said) => {
    const { model } = await serve([[200, body, 'application/json']]);
    const error = await model.chat(ask).catch((caught: unknown) => caught as Error);
    expect(error).toMatchObject({ name: 'ModelError', status, code: 'remote_error' });
    const { message } = error as Error;
    expect(message).toMatch(/^The auxiliary model "big" at 127\.0\.0\.1:\d+ answered with /);
    expect(message).toContain(said);
    expect(message).not.toContain('key-of-mine');
  });

  it('reads content in parts, reasoning among them, and tool calls of gateways', async () => {
    const thinking = [
      { type: 'text', text: 'six times ' },
      { type: 'text', text: 'seven' },
    ];
    const parts = [{ type: 'thinking', thinking }, { type: 'reasoning', text: ', so' }, { type: 'text', text: '4' }, { type: 'text', text: '2' }]; // prettier-ignore
    const call = { function: { name: 'add', arguments: { a: 1 } } };
    const { model } = await serve([[200, withChoice({ message: { content: parts, tool_calls: [call] } })]]); // prettier-ignore
    expect(await model.chat(ask)).toMatchObject([
      {
        responseText: '42',
        reasoningText: 'six times seven, so',
        toolCalls: [{ id: '', function: { name: 'add', arguments: '{"a":1}' } }],
      },
    ]);
  });

  it.each([[''], [false], [{}], [null]])(
    'reads an answer beside the empty error %j',
    async (error) => {
      const { model } = await serve([[200, withChoice({ error, message })]]);
      expect(await model.chat(ask)).toMatchObject([{ responseText: 'hello' }]);
    },
  );

  it.each(['reasoning', 'reasoning_content'])('reads the reasoning in %s', async (name) => {
    const { model } = await serve([[200, withChoice({ message: { ...message, [name]: 'hm' } })]]);
    expect(await model.chat(ask)).toMatchObject([{ responseText: 'hello', reasoningText: 'hm' }]);
  });

  it('names the model that rejected the call of a client of an agent', async () => {
    const reply = [503, { error: { message: 'Overloaded.', code: 'busy' } }] as const;
    const { model } = await serve([reply, reply]);
    const call = model.openaiClient().chat.completions.create({ model: 'big', messages: ask });
    await expect(call).rejects.toMatchObject({
      status: 503,
      code: 'busy',
      message: expect.stringMatching(
        /^503 Overloaded\. \(the auxiliary model "big" at 127\.0\.0\.1:\d+\)$/,
      ) as string,
    });
    await expect(model.chat(ask)).rejects.toThrow(/^The auxiliary .* answered 503 Overloaded\.$/);
  });

  it('waits no longer than its deadline, nor than its run', async () => {
    const slow = await serve(['silence'], { timeoutMs: 50 });
    await expect(slow.model.chat(ask)).rejects.toMatchObject({
      status: 504,
      message: expect.stringContaining('within 0.05 s') as string,
    });
    const run = new AbortController();
    const ended = await serve(['silence', 'silence'], { signal: run.signal });
    const calls = [
      ended.model.chat(ask),
      ended.model.openaiClient().chat.completions.create({ model: 'big', messages: ask }),
    ];
    setTimeout(() => run.abort(new Error('over')), 20);
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
    ]);
  });

  it('says that the address cannot be reached', async () => {
    const model = createRemoteModel({
      baseURL: 'http://127.0.0.1:1/v1',
      apiKey: 'k',
      modelPath: 'big',
      timeoutMs: 60_000,
      maxRetries: 0,
    });
    await expect(model.chat(ask)).rejects.toMatchObject({ status: 502, retryable: true });
  });

  it.each([200, 404, 502])(
    'says that a web page with status %i is no answer, also to the client of an agent',
    async (status) => {
      const page = [status, '<html>Sign in</html>'] as const;
      const { model } = await serve([page, page]);
      const said =
        /^The auxiliary model "big" at 127\.0\.0\.1:\d+ answered with a web page \(status \d+/;
      const expected = {
        status: status === 200 ? 502 : status,
        message: expect.stringMatching(said),
      };
      await expect(model.chat(ask)).rejects.toMatchObject(expected);
      const call = model.openaiClient().chat.completions.create({ model: 'big', messages: ask });
      await expect(call).rejects.toMatchObject({ cause: expected });
    },
  );

  it('notes that it waits for its service until the answer has been read', async () => {
    const waits = new Set<string>();
    const during: string[][] = [];
    const noting: typeof fetch = async (...args) => {
      const answered = fetch(...args);
      during.push([...waits]);
      return answered;
    };
    const waiting = [expect.stringMatching(/^The auxiliary model "big" at 127/) as string];
    const slow = await serve(['silence'], { waits, timeoutMs: 300, fetch: noting });
    const call = slow.model.openaiClient().chat.completions.create({ model: 'big', messages: ask });
    await expect(call).rejects.toMatchObject({
      cause: { code: 'timeout', message: expect.stringContaining('did not answer within 0.3 s') },
    });
    expect([during, [...waits]]).toEqual([[waiting], []]);
    const { model } = await serve([[200, completion]], { waits, fetch: noting });
    await model.chat(ask);
    expect([during, [...waits]]).toEqual([[waiting, waiting], []]);
  });

  it('notes that it waits as long as one of its calls waits', async () => {
    const waits = new Set<string>();
    const answers: (() => void)[] = [];
    const fetch = async () => {
      await new Promise<void>((resolve) => answers.push(resolve));
      return Response.json(completion);
    };
    const { model } = await serve([], { waits, fetch });
    const calls = [model.chat(ask), model.chat(ask)];
    await expect.poll(() => answers).toHaveLength(2);
    answers[0]?.();
    await calls[0];
    expect(waits.size).toBe(1);
    answers[1]?.();
    await calls[1];
    expect(waits.size).toBe(0);
  });

  it('rejects what only a local model supports', async () => {
    const { model } = await serve([]);
    await expect(model.chat(ask, { topLogprobs: 2 })).rejects.toMatchObject({
      code: 'not_available',
    });
    expect(() => model.extractExperiencesFromHistory()).toThrow('records no history');
  });
});

describe('logprobs of a remote model', () => {
  const entry = (id: number, logprob: number) => ({
    [id]: { logprob, rank: 1, decoded_token: 'x' },
  });
  const scored = (list: readonly unknown[]) => ({
    choices: [{ index: 0, text: '', finish_reason: 'length', prompt_logprobs: list }],
  });

  it('are those of the given tokens, where the service says them as vLLM does', async () => {
    const { model, seen } = await serve([
      [200, scored([null, entry(8, -1), { ...entry(9, -0.5), ...entry(3, -0.1) }, entry(7, 1e-9)])],
    ]);
    expect([...(await model.logprobs([5, 8, 9, 7], 2))]).toEqual([-0.5, 0]);
    expect(seen[0]!.body).toEqual({
      model: 'big',
      prompt: [5, 8, 9, 7],
      max_tokens: 1,
      temperature: 1,
      prompt_logprobs: 0,
    });
    expect(model.vocabulary).toBeUndefined();
  });

  it('are rejected with the reason where it does not', async () => {
    const plain = { choices: [{ index: 0, text: '', finish_reason: 'length', logprobs: null }] };
    const { model } = await serve([[200, plain], [200, scored([null, entry(1, -1)])], [404, { error: { message: 'no such route' } }]]); // prettier-ignore
    const refusal = {
      status: 501,
      message: expect.stringContaining('does not support prompt_logprobs') as string,
    };
    await expect(model.logprobs([1, 2], 1)).rejects.toMatchObject(refusal);
    await expect(model.logprobs([1, 2], 1)).rejects.toThrow(
      'no log-probability for token 2 at position 1',
    );
    await expect(model.logprobs([1, 2], 1)).rejects.toMatchObject({
      status: 404,
      code: 'remote_error',
    });
    await expect(model.logprobs([1, 2], 1, { temperature: 0.7 })).rejects.toThrow(
      'at temperature 1 only',
    );
    await expect(model.logprobs([1], 1)).rejects.toThrow(
      'expected at least one prompt and one response token',
    );
  });
});
