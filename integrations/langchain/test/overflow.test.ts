/** Tests the errors of a conversation that exceeds the context length. */
import { inProcessRollouts } from '@trinity-rft/model/testing';
import { scriptedSampler } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import { createWeatherAgent, playing } from './support/agent.js';

const inProcess = inProcessRollouts();

describe.each([
  ['chat completions', {}],
  ['Responses', { useResponsesApi: true }],
])('over %s', (_, options) => {
  it.each([false, true])(
    'tells the explorer that the prompt is too long (streamed: %s)',
    async (streamed) => {
      const sampler = scriptedSampler({ script: [], maxModelLen: 20 });
      const { signal } = new AbortController();
      const { endpoint } = await inProcess.open({ sampler, signal });
      const agent = playing(createWeatherAgent, options)([]);
      const thrown = await agent({
        endpoint,
        question: 'Who was it?'.repeat(9),
        streamed,
        signal,
        settings: {},
      }).catch((error: unknown) => error);
      const codes: unknown[] = [];
      for (let error = thrown; error instanceof Error; error = error.cause) {
        codes.push([
          (error as { readonly status?: unknown }).status,
          (error as { readonly code?: unknown }).code,
        ]);
      }
      expect(codes).toContainEqual([400, 'context_length_exceeded']);
    },
  );
});
