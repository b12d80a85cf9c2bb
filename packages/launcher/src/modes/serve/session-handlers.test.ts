import type { StageConfig } from '@trinity-rft/config';
import { createRuntime, type Logger } from '@trinity-rft/core';
import { characterFormat } from '@trinity-rft/model/testing';
import { recordingLogger, scriptedSampler } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { keptCallsPerSession } from '../../outer/outer.js';
import { sessionHandlers } from './session-handlers.js';

const format = characterFormat();

function handlersOver(
  logger: Logger,
  texts: readonly string[],
): ReturnType<typeof sessionHandlers> {
  const stage = { project: 'shop', name: 'run', explorer: { rolloutModel: {} } };
  return sessionHandlers(
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
  const texts = Array<string>(2 * keptCallsPerSession + 1).fill('a<|im_end|>');
  const handler = handlersOver(recordingLogger(), texts)('session', async () => {});
  const ask = async (body: object): Promise<string> => {
    const text = JSON.stringify(body);
    const init = { method: 'POST', body: text };
    const response = await handler(new Request('http://host/v1/responses', init));
    return ((await response.json()) as { readonly id: string }).id;
  };
  const ids: string[] = [];
  for (const _ of texts) ids.push(await ask({ input: 'hi' }));
  const stored = ids.map((id) => handler(new Request(`http://host/v1/responses/${id}`)));
  const statuses = (await Promise.all(stored)).map(({ status }) => status);
  expect([statuses[0], statuses.at(-keptCallsPerSession)]).toEqual([404, 200]);
});

it('logs a call that cannot be recorded, and hides the cause from the client', async () => {
  const logger = recordingLogger();
  const handlers = handlersOver(logger, ['a<|im_end|>']);
  const handler = handlers('session', () => Promise.reject(new Error('/srv/calls.db: ENOSPC')));
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
