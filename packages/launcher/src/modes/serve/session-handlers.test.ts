import type { StageConfig } from '@trinity-rft/config';
import { createRuntime } from '@trinity-rft/core';
import { characterFormat } from '@trinity-rft/model/testing';
import { recordingLogger, scriptedSampler } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { sessionHandlers } from './session-handlers.js';

it('logs a call that cannot be recorded, and hides the cause from the client', async () => {
  const logger = recordingLogger();
  const format = characterFormat();
  const stage = { project: 'shop', name: 'run', explorer: { rolloutModel: {} } };
  const handlers = sessionHandlers(
    stage as unknown as StageConfig,
    { ...createRuntime(), logger },
    {
      sampler: scriptedSampler({ script: [format.tokenizer.encode('a<|im_end|>')] }),
      format,
      encoder: { encode: async (text) => format.tokenizer.encode(text), close: async () => {} },
      start: 1,
    },
  );
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
