/** Tests the errors of a conversation that exceeds the context length. */
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { servedRollouts } from '@trinity-rft/model/testing';
import { scriptedSampler } from '@trinity-rft/testing';
import { afterAll, expect, it } from 'vitest';
import { finalText } from '../src/final-text.js';
import { mastraModel } from '../src/model.js';

const served = await servedRollouts();
afterAll(() => served.close());

it.each(['chat', 'responses'] as const)(
  'tells the explorer that the prompt is too long, over %s',
  async (api) => {
    const sampler = scriptedSampler({ script: [], maxModelLen: 20 });
    const { endpoint } = await served.open({ sampler, signal: new AbortController().signal });
    const agent = new Agent({
      id: 'a',
      name: 'a',
      instructions: 'Be brief.',
      model: 'openai/gpt-5',
    });
    new Mastra({ agents: { agent }, logger: false });
    const asked = agent
      .generate('Who was it?'.repeat(9), { model: mastraModel(endpoint, { api }) })
      .then(finalText);
    await expect(asked).rejects.toMatchObject({
      statusCode: 400,
      data: { error: { code: 'context_length_exceeded' } },
    });
  },
);
