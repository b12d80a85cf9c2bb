/** Tests of a local model over a sampler that records its calls. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildCharTokenizer, chatTemplates, writeTokenizerFiles } from '@trinity-rft/chat';
import type { Sampler, SamplingOptions } from '@trinity-rft/core/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ChatSettings } from '../place/chat-settings.js';
import type { ModelPlace } from '../place/find-model.js';
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

async function recordedModel(
  chat: ChatSettings = {},
  place: Omit<ModelPlace, 'chat'> = { location: practice },
  { answer, seed }: { readonly answer?: Int32Array; readonly seed?: number | undefined } = {
    seed: 7,
  },
): Promise<Recorded> {
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
        tokens: answer ?? Int32Array.of(5 + choice, 6 + choice),
        logprobs: new Float32Array(answer?.length ?? 2),
        stopReason: 'length' as const,
        policyVersion: 0,
      }));
      return Promise.resolve(choices);
    },
  };
  const model = await modelOver(sampler, { ...place, chat }, { name: 'm', seed });
  return { model, sampled, prompts };
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

it('refuses fields whose results an answer does not have', async () => {
  const { model, sampled } = await recordedModel();
  for (const field of [{ n: 2 }, { logprobs: true }, { top_logprobs: 2 }] as object[]) {
    const message = `The request has ${Object.keys(field)[0]}: ${Object.values(field)[0]}, whose`;
    const refusal = { code: 'ARGUMENT_INVALID', message: expect.stringContaining(message) };
    await expect(model.chat(question, field)).rejects.toMatchObject(refusal);
    await expect(model.stream(question, field).next()).rejects.toMatchObject(refusal);
  }
  expect(sampled).toEqual([]);
  const none = { n: 1, logprobs: false, top_logprobs: null } as object;
  expect(await model.chat(question, none)).toMatchObject({ text: expect.any(String) });
});

it('says after its end that it was closed', async () => {
  const { model } = await recordedModel();
  await model.close();
  await expect(model.chat(question)).rejects.toThrow('The model "m" was closed. Load it again.');
});

it('detects the tool call parser of a model that is of no run and no export', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'trinity-local-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const characters = 'abcdefghiklmnoprstuy<>/{}":, _\n';
  const turn = `<think>r</think>\n\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>`;
  const read = async (
    chat: ChatSettings,
    isPlain = true,
    chatTemplate: string = chatTemplates.chatml,
  ) => {
    const eosToken = '<|im_end|>';
    const special = ['<|im_start|>'];
    const files = { characters, eosToken, specialTokens: special, chatTemplate };
    await writeTokenizerFiles(folder, buildCharTokenizer(files));
    const { model } = await recordedModel(chat, { location: folder, isPlain });
    const { reasoning, toolCalls } = model.format.readTurn(model.format.encode(turn), {
      tools: true,
    });
    return [reasoning, toolCalls.map(({ name }) => name)];
  };
  expect(await read({})).toEqual([undefined, ['f']]);
  expect(await read({ enable_thinking: true })).toEqual([undefined, ['f']]);
  expect(await read({ reasoning_parser: 'auto' })).toEqual(['r', ['f']]);
  expect(await read({}, false)).toEqual([undefined, []]);
  const silent = '{% for m in messages %}{{ m.content }}{% endfor %}';
  expect(await read({}, true, silent)).toEqual([undefined, []]);
});

describe('tool calls of a conversation that continues in another process', () => {
  const idIn = async (seed?: number): Promise<string | undefined> => {
    const chat = { tool_call_parser: 'hermes' };
    const { model } = await recordedModel(chat);
    const answer = model.format.encode('<tool_call>{"name": "f", "arguments": {}}</tool_call>');
    const tools = [{ type: 'function' as const, function: { name: 'f', parameters: {} } }];
    const restarted = await recordedModel(chat, { location: practice }, { answer, seed });
    return (await restarted.model.chat(question, { tools })).toolCalls[0]?.id;
  };

  it('have other ids', async () => {
    const ids = [await idIn(), await idIn()];
    for (const id of ids) expect(id).toMatch(/^call_[\da-f]{12}_0_0_0$/);
    expect(ids[0]).not.toBe(ids[1]);
  });

  it('have the same ids if a seed is given', async () => {
    expect(await idIn(7)).toBe(await idIn(7));
    expect(await idIn(7)).not.toBe(await idIn(8));
  });
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
