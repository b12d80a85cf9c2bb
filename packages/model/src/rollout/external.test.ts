import {
  buildCharTokenizer,
  chatTemplates,
  createChatFormat,
  createTokenizer,
} from '@trinity-rft/chat';
import { trace, type Span } from '@opentelemetry/api';
import type { ChatOptions, ChatResponse } from '@trinity-rft/core';
import { recordingLogger, testRuntime } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { scripted, tools } from '../../test/helpers.js';
import { askExternal } from './external.js';

/** ChatML whose tokenizer ends texts with another token than the one that closes a turn. */
const tokenizer = createTokenizer(
  buildCharTokenizer({
    characters: `${Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')}\n`,
    specialTokens: ['<|im_start|>', '<|im_end|>'],
    eosToken: '<|endoftext|>',
    chatTemplate: chatTemplates.chatml,
  }),
);
const format = createChatFormat({ tokenizer });
const end = (token: string): number => tokenizer.tokenToId(token)!;

async function tokensOf(
  response: Partial<ChatResponse>,
  chatFormat = format,
): Promise<readonly number[]> {
  const answer = { responseText: 'ok', toolCalls: [], finishReason: 'stop', ...response };
  const external = { chat: async () => [answer as unknown as ChatResponse] };
  const [first] = await askExternal(external, chatFormat, {
    messages: [{ role: 'user', content: 'hi' }],
    ...{ tools: undefined, parseTools: true, enableThinking: undefined, signal: undefined },
    ...{ settings: { maxTokens: 9, seed: 0 }, policyVersion: 0 },
  });
  return [...first!.sequence.tokens];
}

const ok = [...tokenizer.encode('ok')];

it('an external answer ends in the token that closes a turn of the template', async () => {
  expect(await tokensOf({})).toEqual([...ok, end('<|im_end|>')]);
  expect(await tokensOf({ finishReason: 'length' })).toEqual(ok);
});

it('an external answer keeps the stop token that the template writes, whichever it is', async () => {
  const stopTokenIds = ['<|endoftext|>', '<|im_end|>'].map(end);
  expect(await tokensOf({}, { ...format, stopTokenIds })).toEqual([...ok, end('<|im_end|>')]);
});

const post = (path: string, body: object): Request =>
  new Request(`http://host/v1/${path}`, { method: 'POST', body: JSON.stringify(body) });
const messages = [{ role: 'user', content: 'hi' }];

it.each(['none', 'auto'])(
  'an external model calls tools as tool_choice says: %s',
  async (choice) => {
    const asked: (ChatOptions | undefined)[] = [];
    const toolCalls = [
      { id: 'c', type: 'function' as const, function: { name: 'add', arguments: '{}' } },
    ];
    const answer = { responseText: 'ok', toolCalls, finishReason: 'tool_calls' };
    const external = {
      chat: async (_: unknown, options?: ChatOptions) => {
        asked.push(options);
        return [answer as unknown as ChatResponse];
      },
    };
    const logger = recordingLogger();
    const { model } = scripted([], { external, runtime: { ...testRuntime(), logger } });
    const body = { messages, tools, tool_choice: choice };
    await model.handler(post('chat/completions', body));
    const response = await model.handler(post('chat/completions', body));
    const { choices } = (await response.json()) as {
      readonly choices: readonly { finish_reason: string; message: { tool_calls?: object[] } }[];
    };
    const may = choice === 'auto';
    const sent = { toolChoice: may ? undefined : 'none', tools: [{}] };
    expect(asked).toMatchObject([sent, sent]);
    const lines = logger.messages('info').filter((line) => line.includes('tool_choice'));
    expect(lines).toHaveLength(may ? 0 : 1);
    expect(choices).toMatchObject([{ finish_reason: may ? 'tool_calls' : 'stop' }]);
    expect(choices[0]?.message.tool_calls?.length).toBe(may ? 1 : undefined);
  },
);

const silent = { chat: () => Promise.reject(new Error('asked')) };

it.each([
  ['chat/completions', { messages, logprobs: true }, 'logprobs'],
  ['responses', { input: 'hi', include: ['message.output_text.logprobs'] }, 'include'],
])('an external model has no log-probabilities to give: %s', async (path, body, param) => {
  const { model } = scripted([], { external: silent });
  const response = await model.handler(post(path, body));
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { error: { code: 'not_available', param } },
  ]);
});

it('logs once which variables of the template an external model does not get', async () => {
  const logger = recordingLogger();
  const { model } = scripted([], {
    external: {
      chat: async () => [{ responseText: 'ok', toolCalls: [] } as unknown as ChatResponse],
    },
    runtime: { ...testRuntime(), logger },
  });
  const body = { messages, reasoning_effort: 'low', chat_template_kwargs: { greeting: 'hi' } };
  for (let i = 0; i < 2; i++) await model.handler(post('chat/completions', body));
  expect(logger.messages('info')).toEqual([
    expect.stringContaining('sets reasoning_effort, greeting for the chat template'),
  ]);
});

it('records no span for an external model, which records its own calls', async () => {
  const spans: string[] = [];
  const startSpan = (name: string): Span => {
    spans.push(name);
    return trace.wrapSpanContext({ traceId: '', spanId: '', traceFlags: 0 });
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) as never });
  const answer = { responseText: 'ok', toolCalls: [] } as unknown as ChatResponse;
  await scripted(['ok<|im_end|>']).model.chat([{ role: 'user', content: 'hi' }]);
  expect(spans).toHaveLength(1);
  const { model } = scripted([], { external: { chat: async () => [answer] } });
  await model.chat([{ role: 'user', content: 'hi' }]);
  trace.disable();
  expect(spans).toHaveLength(1);
});
