/**
 * Tests the errors of a conversation that exceeds the context length, and of a busy model, because
 * the explorer reads their fields.
 */
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { inProcessRollouts } from '@trinity-rft/model/testing';
import { scriptedSampler } from '@trinity-rft/testing';
import { generateText, streamText, type LanguageModel } from 'ai';
import { describe, expect, it } from 'vitest';
import { aiSdkModel, type CreateProvider } from '../src/model.js';
import { readStream } from './support/read-stream.js';

const inProcess = inProcessRollouts();

describe.each<[string, CreateProvider<LanguageModel>]>([
  ['Responses', createOpenAI],
  ['chat completions', createOpenAICompatible],
])('over %s', (_, provider) => {
  it.each([false, true])(
    'tells the explorer that the prompt is too long (streamed: %s)',
    async (streamed) => {
      const sampler = scriptedSampler({ script: [], maxModelLen: 20 });
      const { endpoint } = await inProcess.open({ sampler, signal: new AbortController().signal });
      const options = { model: aiSdkModel(endpoint, provider), prompt: 'Who was it?'.repeat(9) };
      const asked = streamed
        ? readStream(streamText({ ...options, onError: () => undefined }))
        : generateText(options);
      await expect(asked).rejects.toMatchObject({
        statusCode: 400,
        data: { error: { code: 'context_length_exceeded' } },
      });
    },
  );

  it('lets the explorer try again when the model is busy', async () => {
    const { endpoint } = await inProcess.open({
      sampler: scriptedSampler({ script: [] }),
      signal: new AbortController().signal,
    });
    const busy = { ...endpoint, fetch: () => Promise.resolve(Response.json({}, { status: 429 })) };
    const asked = generateText({ model: aiSdkModel(busy, provider), prompt: 'Hi.' });
    await expect(asked).rejects.toMatchObject({ name: 'ModelError', status: 429, retryable: true });
  });
});
