/** Tests of a local model over a sampler that records its calls. */
import { fileURLToPath } from 'node:url';
import { chatTemplates } from '@trinity-rft/chat';
import type { Sampler, SamplingOptions } from '@trinity-rft/core/engine';
import { expect, it } from 'vitest';
import { findModel } from '../place/find-model.js';
import type { ChatPart } from './answers.js';
import type { ChatSettings } from '../place/chat-settings.js';
import { modelOver, type LocalModel } from './load-model.js';

const practice = fileURLToPath(
  new URL('../../../../apps/create/templates/practice/model', import.meta.url),
);
const question = [{ role: 'user' as const, content: '1+1' }];

interface Recorded {
  readonly model: LocalModel;
  /** Sampling options of each call. */
  readonly sampled: SamplingOptions[];
  /** Prompt of each call. */
  readonly prompts: Int32Array[];
}

async function recordedModel(chat: ChatSettings = {}): Promise<Recorded> {
  const sampled: SamplingOptions[] = [];
  const prompts: Int32Array[] = [];
  const sampler: Sampler = {
    policyVersion: 0,
    maxModelLen: 512,
    adopt: () => Promise.resolve(),
    sample: (prompt, options) => {
      prompts.push(prompt);
      sampled.push(options);
      const choices = Array.from({ length: options.n ?? 1 }, (_, choice) => ({
        tokens: Int32Array.of(5 + choice, 6 + choice),
        logprobs: new Float32Array(2),
        stopReason: 'length' as const,
        policyVersion: 0,
      }));
      return Promise.resolve(choices);
    },
  };
  const place = { ...(await findModel(practice)), chat };
  return { model: await modelOver(sampler, place, { name: 'm', seed: 7 }), sampled, prompts };
}

it('renders a conversation with the switches of its calls', async () => {
  const template = { chat_template: chatTemplates.chatml };
  const { model, prompts } = await recordedModel({ ...template, enable_thinking: false });
  const other = await recordedModel(template);
  await model.chat(question);
  expect(prompts).toEqual([model.render(question).ids]);
  expect(prompts).not.toEqual([other.model.render(question).ids]);
});

it('samples concurrent calls with the seeds of consecutive calls', async () => {
  const [concurrent, consecutive] = [await recordedModel(), await recordedModel()];
  await Promise.all(Array.from({ length: 8 }, () => concurrent.model.chat(question)));
  for (let call = 0; call < 8; call++) await consecutive.model.chat(question);
  const seeds = ({ sampled }: Recorded): number[] => sampled.map(({ seed }) => seed);
  expect(new Set(seeds(concurrent)).size).toBe(8);
  expect(seeds(concurrent)).toEqual(seeds(consecutive));
});

it('streams the first of several choices, which chat returns', async () => {
  const { model } = await recordedModel();
  const whole = await model.chat(question, { n: 2 });
  const parts: ChatPart[] = [];
  for await (const part of model.stream(question, { n: 2 })) parts.push(part);
  expect(parts.map((part) => (part.type === 'text' ? part.text : '')).join('')).toBe(whole.text);
  expect(parts.at(-1)).toMatchObject({ finishReason: whole.finishReason, usage: whole.usage });
});

it('continues the response of the call before, however many calls there were', async () => {
  const { model } = await recordedModel();
  const { responses } = model.openai();
  const base = { model: 'm', input: '1', max_output_tokens: 2 };
  for (let pair = 0; pair < 505; pair++) {
    const { id } = await responses.create(base);
    const next = await responses.create({ ...base, previous_response_id: id });
    expect(next.previous_response_id).toBe(id);
  }
});
