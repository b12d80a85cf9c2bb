import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { inProcessRollouts } from '@trinity-rft/model/testing';
import { scriptedSampler } from '@trinity-rft/testing';
import { generateText, NoObjectGeneratedError, Output, streamText, type LanguageModel } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { aiSdkModel, type CreateProvider } from '../src/model.js';

const inProcess = inProcessRollouts();

const output = Output.object({ schema: z.object({ degrees: z.number() }) });

async function ask(provider: CreateProvider<LanguageModel>, reply: string) {
  const sampler = scriptedSampler({ script: [inProcess.encode(`${reply}<|im_end|>`)] });
  const rollout = await inProcess.open({ sampler, signal: new AbortController().signal });
  return {
    rollout,
    options: {
      model: aiSdkModel(rollout.endpoint, provider),
      prompt: 'How warm?',
      output,
      onError: () => undefined,
    },
  };
}

describe.each<[string, CreateProvider<LanguageModel>]>([
  ['chat completions', createOpenAICompatible],
  ['Responses', createOpenAI],
])('an output with a schema over %s', (_, provider) => {
  it('is read from what the model wrote, whole and streamed', async () => {
    const whole = await ask(provider, '{"degrees": 12}');
    expect((await generateText(whole.options)).output).toEqual({ degrees: 12 });
    const streamed = await ask(provider, '{"degrees": 12}');
    expect(await streamText(streamed.options).output).toEqual({ degrees: 12 });
    for (const { rollout } of [whole, streamed]) {
      expect(rollout.records()).toMatchObject([{ responseText: '{"degrees": 12}' }]);
      // The endpoint does not enforce the schema, because that would change the log-probabilities.
      expect(rollout.metrics()).toMatchObject({ 'model/unconstrained': 1 });
    }
  });

  it('fails by the words of the framework where the model does not follow it, and the call is recorded', async () => {
    const { rollout, options } = await ask(provider, 'Warm.');
    await expect(generateText(options)).rejects.toSatisfy((error) =>
      NoObjectGeneratedError.isInstance(error),
    );
    expect(rollout.records()).toMatchObject([{ responseText: 'Warm.' }]);
  });
});
