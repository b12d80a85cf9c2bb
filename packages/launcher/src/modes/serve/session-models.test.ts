import type { StageConfig } from '@trinity-rft/config';
import { createRuntime, type Logger } from '@trinity-rft/core';
import { keptTokensOfServer } from '@trinity-rft/model';
import { characterFormat } from '@trinity-rft/model/testing';
import { recordingLogger, scriptedSampler } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { sessionModels } from './session-models.js';

const format = characterFormat();

function modelsOver(logger: Logger, texts: readonly string[]): ReturnType<typeof sessionModels> {
  const stage = { project: 'shop', name: 'run', explorer: { rolloutModel: {} } };
  return sessionModels(
    stage as unknown as StageConfig,
    { ...createRuntime(), logger },
    {
      sampler: scriptedSampler({ script: texts.map((text) => format.tokenizer.encode(text)) }),
      format,
      encoder: { encode: async (text) => format.tokenizer.encode(text), close: async () => {} },
      start: 1,
    },
  );
}

it('forgets the oldest responses of a session that never ends', async () => {
  const texts = Array<string>(2).fill('a<|im_end|>');
  const { handler, keptTokens } = modelsOver(recordingLogger(), texts)('session', async () => {});
  const post = (path: string, body: string): Promise<Response> =>
    handler(new Request(`http://host/v1/${path}`, { method: 'POST', body }));
  const ask = async (): Promise<string> =>
    ((await (await post('responses', '{"input": "hi"}')).json()) as { readonly id: string }).id;
  const first = await ask();
  // Prompts that are too long for the model fail, but count.
  const long = `{"prompt": [1${',1'.repeat(keptTokensOfServer - 1)}]}`;
  for (const _ of [1, 2]) expect((await post('completions', long)).status).toBe(400);
  const last = await ask();
  const stored = [first, last].map((id) => handler(new Request(`http://host/v1/responses/${id}`)));
  expect((await Promise.all(stored)).map(({ status }) => status)).toEqual([404, 200]);
  expect(keptTokens()).toBeLessThan(2 * keptTokensOfServer);
});

it('gives the tool calls of a conversation that continues in another session other ids', async () => {
  const call = '<tool_call>{"name": "add", "arguments": {}}</tool_call><|im_end|>';
  const models = modelsOver(recordingLogger(), [call, call]);
  const tools = [{ type: 'function', function: { name: 'add', parameters: {} } }];
  const idIn = async (session: string): Promise<string | undefined> => {
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], tools });
    const request = new Request('http://host/v1/chat/completions', { method: 'POST', body });
    const { choices } = (await (await models(session, async () => {}).handler(request)).json()) as {
      readonly choices: readonly {
        readonly message: { readonly tool_calls?: readonly { readonly id: string }[] };
      }[];
    };
    return choices[0]?.message.tool_calls?.[0]?.id;
  };
  const ids = [await idIn('one'), await idIn('two')];
  for (const id of ids) expect(id).toMatch(/^call_[\da-f]{12}_0_0_0$/);
  expect(ids[0]).not.toBe(ids[1]);
});

it('logs a call that cannot be recorded, and hides the cause from the client', async () => {
  const logger = recordingLogger();
  const models = modelsOver(logger, ['a<|im_end|>']);
  const { handler } = models('session', () => Promise.reject(new Error('/srv/calls.db: ENOSPC')));
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] });
  const response = await handler(
    new Request('http://host/v1/chat/completions', { method: 'POST', body }),
  );
  expect([response.status, await response.json()]).toMatchObject([
    500,
    { error: { message: 'The server failed to answer. Its log has the cause.' } },
  ]);
  expect(logger.messages('error')).toEqual(['A call failed: /srv/calls.db: ENOSPC']);
});
