/**
 * Tests of the practice model, which comes with the project templates, in this process with each
 * runtime.
 */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readTokenizerFiles } from '@trinity-rft/chat';
import { saveGgufAdapter, saveGgufModel } from '@trinity-rft/chat/gguf';
import { openWeights } from '@trinity-rft/engine-onnx';
import { openEndpointServer } from '@trinity-rft/model';
import { createRuntime } from '@trinity-rft/core';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, stepCountIs, streamText, tool, ToolLoopAgent } from 'ai';
import { OpenAI } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  findModel,
  languageModel,
  loadModel,
  type LoadModelOptions,
  type LocalModel,
} from '../src/index.js';
import { openServedModels } from '../src/server/served-models.js';

const practice = fileURLToPath(
  new URL('../../../apps/create/templates/practice/model', import.meta.url),
);
let scratch = '';
let gguf = '';

/**
 * Conversation in words for which the practice model has tokens. The model answers with calculator
 * calls or numbers.
 */
const question = (content: string) => [{ role: 'user' as const, content }];
const settings: LoadModelOptions = {
  seed: 7,
  gpu: false,
  threads: 1,
  chat: { tool_call_parser: 'hermes' },
};

beforeAll(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'trinity-local-'));
  gguf = path.join(scratch, 'practice.gguf');
  const weights = await openWeights(practice);
  await saveGgufModel({
    config: JSON.parse(await readFile(path.join(practice, 'config.json'), 'utf8')) as Record<
      string,
      unknown
    >,
    tokenizer: await readTokenizerFiles(practice),
    weights,
    target: gguf,
    type: 'F32',
  });
  await weights.close();
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

const places = { onnx: () => practice, 'llama.cpp': () => gguf } as const;

describe.each(['onnx', 'llama.cpp'] as const)('%s', (runtime) => {
  let model: LocalModel;
  beforeAll(async () => {
    model = await loadModel(places[runtime](), settings);
  });
  afterAll(() => model?.close());

  it('answers, whole and in parts, with equal texts for equal seeds', async () => {
    const request = { seed: 5, max_tokens: 12 };
    const whole = await model.chat(question('12*34'), request);
    const parts = [];
    for await (const part of model.stream(question('12*34'), request)) parts.push(part);
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    expect(text).toBe(whole.text);
    expect(parts.at(-1)).toEqual({
      type: 'finish',
      finishReason: whole.finishReason,
      usage: whole.usage,
    });
    expect(whole.usage.promptTokens).toBe(model.render(question('12*34')).ids.length);
    expect(parts.length).toBeGreaterThan(2);
  });

  it('reports log-probabilities and alternatives, and stops at texts', async () => {
    const { choices } = await model.openai().chat.completions.create({
      model: model.name,
      messages: question('12*34'),
      temperature: 1,
      seed: 3,
      logprobs: true,
      top_logprobs: 3,
      max_tokens: 6,
    });
    const tokens = choices[0]?.logprobs?.content ?? [];
    expect(tokens.length).toBeGreaterThan(0);
    for (const { logprob, top_logprobs: top } of tokens) {
      expect(logprob).toBeLessThanOrEqual(0);
      expect(top).toHaveLength(3);
      expect(top[0]?.logprob).toBeGreaterThanOrEqual(logprob - 1e-4);
    }
    const first = await model.chat(question('12*34'), { temperature: 0, max_tokens: 6 });
    const stop = first.text.slice(1, 2);
    const stopped = await model.chat(question('12*34'), { temperature: 0, max_tokens: 6, stop });
    expect(stopped.text).toBe(first.text.slice(0, first.text.indexOf(stop)));
    expect(stopped.finishReason).toBe('stop');
  });

  it('follows a response format, greedily and sampled', async () => {
    const schema = { type: 'object', properties: { a: { enum: [12, 34] } }, required: ['a'] };
    const format = {
      name: 'answer',
      strict: true,
      schema: { ...schema, additionalProperties: false },
    };
    for (const temperature of [0, 1]) {
      const request = { temperature, seed: 1, max_tokens: 64 };
      const { text, finishReason } = await model.chat(question('12*34'), {
        ...request,
        response_format: { type: 'json_schema', json_schema: format },
      });
      expect([[12], [34]]).toContainEqual(Object.values(JSON.parse(text) as object));
      expect(finishReason).toBe('stop');
    }
  });

  it('makes a tool call that is forced', async () => {
    const calculator = { name: 'calculator', parameters: { type: 'object', properties: {} } };
    const { toolCalls } = await model.chat(question('12*34'), {
      seed: 1,
      max_tokens: 100,
      tools: [{ type: 'function', function: calculator }],
      tool_choice: 'required',
    });
    expect(toolCalls[0]?.function.name).toBe('calculator');
  });

  it('answers two conversations at once as one after the other', async () => {
    const ask = (content: string) => model.chat(question(content), { seed: 9, max_tokens: 10 });
    const alone = [await ask('1+1'), await ask('25*88')];
    const together = await Promise.all([ask('1+1'), ask('25*88')]);
    expect(together.map(({ text }) => text)).toEqual(alone.map(({ text }) => text));
  });

  it('stops when it is told to', async () => {
    const stop = new AbortController();
    const request = { temperature: 0, max_tokens: 200, signal: stop.signal };
    const read = async (): Promise<number> => {
      let parts = 0;
      for await (const part of model.stream(question('aaaa'), request)) {
        parts += part.type === 'text' ? 1 : 0;
        stop.abort();
      }
      return parts;
    };
    expect(await read().catch(() => 'stopped')).not.toBeGreaterThan(2);
    expect(
      (await model.chat(question('1+1'), { max_tokens: 4 })).usage.completionTokens,
    ).toBeGreaterThan(0);
  });

  it('says what is wrong with a request, as over HTTP', async () => {
    await expect(model.chat(question('1'.repeat(300)))).rejects.toThrow(
      /400.*prompt and response together may have 256/,
    );
    await expect(model.chat(question('1'), { temperature: -1 })).rejects.toThrow(
      /400.*temperature/,
    );
  });

  it('is a model of the AI SDK: text, streams, tools, agents', async () => {
    const sdk = languageModel(model, createOpenAICompatible);
    const { text } = await generateText({
      model: sdk,
      prompt: '12*34',
      temperature: 0,
      maxOutputTokens: 8,
    });
    expect(text).toBe(
      (await model.chat(question('12*34'), { temperature: 0, max_tokens: 8 })).text,
    );
    const stream = streamText({ model: sdk, prompt: '12*34', temperature: 0, maxOutputTokens: 8 });
    expect(await stream.text).toBe(text);
    const calculator = tool({
      description: 'Multiplies two whole numbers.',
      inputSchema: z.object({ expression: z.string() }),
      execute: ({ expression }) => Promise.resolve(`${expression.length}`),
    });
    const agent = new ToolLoopAgent({
      model: sdk,
      tools: { calculator },
      stopWhen: stepCountIs(2),
      maxOutputTokens: 8,
    });
    expect((await agent.generate({ prompt: '12*34' })).steps.length).toBeGreaterThan(0);
  });
});

describe('the runtimes', () => {
  it('have the log-probabilities of each other', async () => {
    const [ours, theirs] = [
      await loadModel(practice, settings),
      await loadModel(gguf, { ...settings, cache: 'float32' }),
    ];
    const { ids } = ours.render(question('85*11 = 935, and 25*88 = 2200'));
    const [a, b] = [await ours.score(ids), await theirs.score(ids)];
    await ours.close();
    await theirs.close();
    expect(a).toHaveLength(ids.length - 1);
    expect(a.reduce((most, x, i) => Math.max(most, Math.abs(x - (b[i] ?? NaN))), 0)).toBeLessThan(
      1e-4,
    );
  });

  it('cut the distribution in the same order: temperature, top-k, top-p', async () => {
    const [ours, theirs] = [
      await loadModel(practice, settings),
      await loadModel(gguf, { ...settings, cache: 'float32' }),
    ];
    const { ids } = ours.render(question('12*34'));
    for (const options of [
      { temperature: 0.5, topP: 0.8 },
      { temperature: 2, topP: 0.7, topK: 5 },
      { temperature: 0.7 },
    ]) {
      const found = async ({ sampler }: LocalModel): Promise<ReadonlyMap<number, number>> => {
        const drawn = new Map<number, number>();
        for (let seed = 0; seed < 60; seed++) {
          const [answer] = await sampler.sample(ids, { ...options, maxTokens: 1, seed });
          drawn.set(answer?.tokens[0] ?? -1, answer?.logprobs[0] ?? NaN);
        }
        return drawn;
      };
      const [a, b] = [await found(ours), await found(theirs)];
      const shared = [...a.keys()].filter((token) => b.has(token));
      expect(shared.length).toBeGreaterThan(0);
      for (const token of shared) expect(a.get(token)).toBeCloseTo(b.get(token) ?? NaN, 4);
    }
    await ours.close();
    await theirs.close();
  });

  it('score what fits, and say what does not', async () => {
    const model = await loadModel(gguf, { ...settings, maxModelLen: 40 });
    await expect(model.score(new Int32Array(41).fill(5))).rejects.toThrow('at most 40 together');
    await expect(model.score(Int32Array.of(5, 6), 0)).rejects.toThrow(
      'at least one token of prompt',
    );
    const text = Int32Array.from({ length: 40 }, (_, i) => 5 + (i % 7));
    expect(await model.score(text)).toHaveLength(39);
    await model.close();
  });

  it('answer as the same model over HTTP', async () => {
    const model = await loadModel(practice, settings);
    const server = await openEndpointServer({ runtime: createRuntime() });
    const { baseURL, apiKey } = server.mount({ handler: (request) => model.fetch(request) });
    const client = new OpenAI({ baseURL, apiKey });
    const request = { temperature: 0, max_tokens: 12 };
    const { choices } = await client.chat.completions.create({
      model: model.name,
      messages: question('12*34'),
      ...request,
    });
    expect(choices[0]?.message.content).toBe((await model.chat(question('12*34'), request)).text);
    await server.close();
    await model.close();
  });

  it('share the weights of a file between adapters', async () => {
    const { createOnnxEngine } = await import('@trinity-rft/engine-onnx');
    const folder = path.join(scratch, 'adapted');
    const lora = { rank: 4, alpha: 64, seed: 5 };
    const engine = await createOnnxEngine({ modelPath: practice, lora, threads: 1 });
    const row = { tokens: Int32Array.of(5, 6, 7, 8, 9), promptLength: 1, temperature: 1 };
    const pass = await engine.trainer.forward({ rows: [row] });
    await engine.trainer.backward(pass, { logprobs: new Float32Array(4).fill(-1) });
    await engine.trainer.step({ learningRate: 0.05 });
    const wanted = (await engine.trainer.forward({ rows: [row] })).logprobs;
    await engine.trainer.save(folder, { optimizer: false });
    await engine.close();
    const weights = await openWeights(path.join(folder, 'lora_adapter/adapter_model.safetensors'));
    const json = async (name: string) =>
      JSON.parse(await readFile(path.join(folder, name), 'utf8')) as Record<string, unknown>;
    const adapter = path.join(folder, 'adapter.gguf');
    await saveGgufAdapter({
      adapter: await json('lora_adapter/adapter_config.json'),
      config: await json('config.json'),
      weights,
      target: adapter,
    });
    await weights.close();
    const chat = { tool_prompt: 'generic', enable_thinking: false };
    const exported = { version: 1, file: 'adapter.gguf', adapterOnly: true, chat };
    await writeFile(path.join(folder, 'export.json'), JSON.stringify(exported));
    const exact = { ...settings, cache: 'float32' as const };
    const [plain, adapted] = [
      await loadModel(gguf, exact),
      await loadModel(gguf, { ...exact, adapter }),
    ];
    const far = (a: Float32Array, b: Float32Array) =>
      a.reduce((most, x, i) => Math.max(most, Math.abs(x - (b[i] ?? NaN))), 0);
    const found = await adapted.score(row.tokens);
    expect(far(found, wanted)).toBeLessThan(1e-4);
    expect(far(await plain.score(row.tokens), wanted)).toBeGreaterThan(0.1);
    expect(plain.place).toMatchObject({ chat: {}, isPlain: true });
    expect(adapted.place).toMatchObject({ chat, isPlain: false });
    const models = { a: `${gguf}+${adapter}` };
    const served = await openServedModels({ models, gpu: false, onEvent: () => undefined });
    expect(served.current('a')?.place).toMatchObject({ chat, isPlain: false });
    await served.close();
    const own = { ...exact, adapter, chat: { enable_thinking: true } };
    const changed = await loadModel(gguf, own);
    const tools = [{ type: 'function' as const, function: { name: 'f', parameters: {} } }];
    const described = '# Tools';
    for (const [model, isGeneric] of [
      [plain, false],
      [adapted, true],
      [changed, true],
    ] as const)
      expect(model.render(question('1'), tools).text.includes(described)).toBe(isGeneric);
    await changed.close();
    await plain.close();
    expect(far(await adapted.score(row.tokens), found)).toBe(0);
    await adapted.close();
  });

  it('enforce formats, or say that they cannot', async () => {
    const format = {
      type: 'json_schema' as const,
      json_schema: { name: 'n', schema: { type: 'integer' } },
    };
    const request = { response_format: format, max_tokens: 20, temperature: 1 };
    const ours = await loadModel(practice, settings);
    expect((await ours.chat(question('12*34'), request)).text).toMatch(/^-?\d+/);
    await ours.close();
  });

  it('take over a tool call in the words of training', async () => {
    const model = await loadModel(practice, settings);
    const calls = model.format.readTurn(
      model.format.encode(
        '<tool_call>{"name": "calculator", "arguments": {"expression": "1*2"}}</tool_call>',
      ),
      { tools: true },
    ).toolCalls;
    expect(calls).toMatchObject([{ name: 'calculator' }]);
    await model.close();
  });
});

describe('a model is found', () => {
  interface Line {
    readonly role: string;
    readonly step: number;
    readonly metrics: Readonly<Record<string, number>>;
  }
  const evaluated = (step: number, value: number): Line => ({
    role: 'explorer',
    step,
    metrics: { 'eval/held_out/reward/mean@1': value, 'eval/model_version': step },
  });
  /** A line of `trinity eval`. */
  const scored = (step: number, value: number, set = 'held_out'): Line => ({
    role: 'bench',
    step,
    metrics: { [`bench/${set}/reward/mean@1`]: value, 'bench/model_version': step },
  });

  /** A run folder with checkpoints of two steps, as the trainer writes it. */
  async function run(...lines: readonly Line[]): Promise<string> {
    const folder = await mkdtemp(path.join(scratch, 'run-'));
    const stage = path.join(folder, 'grpo');
    for (const step of [10, 20]) {
      const checkpoint = path.join(stage, `global_step_${step}`);
      await cp(practice, checkpoint, { recursive: true });
      const { writeManifest } = await import('@trinity-rft/core/engine');
      await writeManifest(checkpoint, { step, final: step === 20 });
    }
    const settingsOfStage = {
      stage_name: 'grpo',
      'model.model_path': 'owner/base',
      'algorithm.algorithm_type': 'grpo',
      'explorer.rollout_model.tool_call_parser': 'hermes',
      'explorer.rollout_model.max_model_len': 112,
    };
    await writeFile(
      path.join(folder, 'settings.json'),
      JSON.stringify({ stages: [settingsOfStage] }),
    );
    await mkdir(path.join(stage, 'monitor'), { recursive: true });
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    await writeFile(path.join(stage, 'monitor', 'metrics.jsonl'), text);
    return folder;
  }

  it('in a run: its best checkpoint, else the last, with the settings of training', async () => {
    const best = await findModel(
      await run(evaluated(0, 0.9), evaluated(10, 0.7), evaluated(20, 0.6)),
    );
    expect(path.basename(best.location)).toBe('global_step_10');
    expect(best.choice).toBe(
      'Step 10, the best of 2 evaluated checkpoints: held_out reward 0.700.',
    );
    expect(best.chat).toEqual({ tool_call_parser: 'hermes', max_model_len: 112 });
    expect(best.run?.evaluations).toEqual([{ set: 'held_out', metric: 'reward', value: 0.7 }]);
    const last = await findModel(await run());
    expect(last.choice).toBe('Step 20, the last checkpoint; none has the score of an evaluation.');
    const model = await loadModel(last.location, settings);
    expect(model.maxModelLen).toBe(112);
    await model.close();
  });

  const toScore =
    'because no evaluation has measured their weights. To score all: npx trinity eval FILE --checkpoints best';
  const trained = (step: number): Line => ({ role: 'trainer', step, metrics: {} });
  it.each([
    [
      'none has a score',
      [evaluated(9, 0.9)],
      `Step 20, the last checkpoint; none has a score, ${toScore}`,
    ],
    [
      'one has a score',
      [evaluated(9, 0.9), evaluated(20, 0.6)],
      `Step 20, the best of 1 evaluated checkpoint: held_out reward 0.600. 1 other has no such score, ${toScore}`,
    ],
    [
      'trinity eval scored the others',
      [evaluated(20, 0.6), scored(0, 0.9), scored(10, 0.7)],
      'Step 10, the best of 2 evaluated checkpoints: held_out reward 0.700.',
    ],
    [
      'trinity eval scored one again',
      [evaluated(10, 0.5), evaluated(20, 0.6), scored(10, 0.7)],
      'Step 10, the best of 2 evaluated checkpoints: held_out reward 0.700.',
    ],
    [
      'one has another set as well',
      [evaluated(10, 0.7), evaluated(20, 0.6), scored(20, 1, 'easy')],
      'Step 10, the best of 2 evaluated checkpoints: held_out reward 0.700.',
    ],
    [
      'the sets have different checkpoints',
      [evaluated(10, 0.7), scored(20, 0.6, 'hard')],
      `Step 20, the best of 1 evaluated checkpoint: hard reward 0.600. 1 other has no such score, ${toScore}`,
    ],
    [
      'a step was trained again after trinity eval',
      [trained(20), scored(10, 0.7), scored(20, 0.9), trained(20)],
      `Step 10, the best of 1 evaluated checkpoint: held_out reward 0.700. 1 other has no such score, ${toScore}`,
    ],
  ])('in a run where %s', async (_, lines, choice) => {
    expect((await findModel(await run(...lines))).choice).toBe(choice);
  });

  it.each([
    ['nothing', () => path.join(scratch, 'none'), /^There is no .*none\. Name the folder of a run/],
    ['a folder without a model', () => scratch, /is no model: expected the folder of a run/],
    ['another file', () => path.join(practice, 'config.json'), /is no model/],
  ])('not in %s', async (_, place, message) => {
    await expect(loadModel(place())).rejects.toThrow(message);
  });

  it('not in a run without checkpoints', async () => {
    const folder = await mkdtemp(path.join(scratch, 'empty-'));
    await writeFile(path.join(folder, 'settings.json'), '{"stages":[{"stage_name":"grpo"}]}');
    await expect(findModel(folder)).rejects.toThrow(
      'has no checkpoint yet. Train until one is saved',
    );
  });

  it('not in an export for transformers.js', async () => {
    const folder = await mkdtemp(path.join(scratch, 'export-'));
    await writeFile(path.join(folder, 'config.json'), '{}');
    await writeFile(path.join(folder, 'export.json'), '{"format":"transformersjs","file":"."}');
    await expect(findModel(folder)).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringMatching(/is an export for transformers\.js.* gguf, ollama or hf\.$/),
    });
  });

  it('not in the export of an adapter alone, but beside it', async () => {
    const folder = await mkdtemp(path.join(scratch, 'an adapter-'));
    const exported = { version: 1, file: 'lora.gguf', adapterOnly: true };
    await writeFile(path.join(folder, 'export.json'), JSON.stringify(exported));
    const [file, other] = ['lora.gguf', 'other.gguf'].map((name) => path.join(folder, name));
    for (const place of [file, other]) await writeFile(place!, 'GGUF');
    for (const named of [folder, file!])
      await expect(findModel(named)).rejects.toMatchObject({
        name: 'ConfigError',
        message: `${named} is an adapter alone, which needs its base model. Load both: loadModel('BASE.gguf', { adapter: ${JSON.stringify(file)} }), or trinity serve --model 'NAME=BASE.gguf+${file}'.`,
      });
    expect((await findModel(other!)).location).toBe(other);
    await writeFile(
      path.join(folder, 'export.json'),
      JSON.stringify({ ...exported, file: 'adapter_model.safetensors' }),
    );
    await expect(findModel(folder)).rejects.toThrow(/Only PEFT loads this format: name the run/);
  });

  it('not for a runtime that cannot read it', async () => {
    await expect(loadModel(practice, { runtime: 'llama.cpp' })).rejects.toThrow(
      'llama.cpp reads GGUF files, and',
    );
  });

  it.each<readonly [keyof LoadModelOptions, string | number, string]>([
    ['threads', -1, '; expected a whole number of at least 1'],
    ['threads', 0.5, '; expected a whole number of at least 1'],
    ['maxModelLen', 0, '; expected a whole number of at least 1'],
    ['maxModelLen', NaN, '; expected a whole number of at least 1'],
    ['sequences', 0, '; expected a whole number of at least 1'],
    ['runtime', 'foo', '; expected onnx or llama.cpp'],
  ])('not with the option %s: %s', async (name, value, expected) => {
    for (const model of [gguf, practice])
      await expect(loadModel(model, { ...settings, [name]: value })).rejects.toMatchObject({
        name: 'ConfigError',
        message: `The option ${name} is ${value}${expected}.`,
      });
  });

  it.each([
    [{ chat_template: 5 }, 'chat_template is 5, expected a string.'],
    [{ enable_thinking: 'false' }, 'enable_thinking is "false", expected a boolean.'],
    [{ chatTemplate: 'x' }, 'chatTemplate is "x", which is no chat setting; expected one of chat_'],
  ])('not with the chat settings %j', async (chat, message) => {
    const given = loadModel(practice, { chat: chat as object });
    await expect(given).rejects.toThrow(`chat: ${message}`);
    const folder = await exportedWith({ version: 1, file: '.', chat });
    await expect(loadModel(folder)).rejects.toThrow(
      new RegExp(`/export\\.json: ${message}.*Update @trinity-rft/local, or export`),
    );
  });

  const exportedWith = async (fields: object): Promise<string> => {
    const folder = await mkdtemp(path.join(scratch, 'settings-'));
    await cp(practice, folder, { recursive: true });
    await writeFile(path.join(folder, 'export.json'), JSON.stringify(fields));
    return folder;
  };

  it('not with chat settings that are none, and prints no long text', async () => {
    const file = { version: 1, file: '.' };
    const none = await exportedWith({ ...file, chat: 'hello' });
    await expect(loadModel(none)).rejects.toThrow(/export\.json: chat is "hello", expected an obj/);
    const long = await exportedWith({ ...file, chat: { template: 'x'.repeat(1000) } });
    await expect(findModel(long)).rejects.toThrow(/: template is "x{50,100}, which is no chat/);
  });

  it('but with unset chat settings, and beside the export.json of another program', async () => {
    const chat = { chat_template: null, enable_thinking: null, tool_call_parser: 'hermes' };
    const unset = await exportedWith({ version: 1, file: '.', chat });
    expect(await findModel(unset)).toEqual({
      location: unset,
      chat: { tool_call_parser: 'hermes' },
    });
    for (const other of [{ chat: 'hello' }, { version: 1, chat: [{ title: 'x' }] }, []])
      expect(await findModel(await exportedWith(other))).toMatchObject({ chat: {}, isPlain: true });
  });

  it('not with the export.json of a later version', async () => {
    const later = await exportedWith({ version: 2, file: '.', chat: {} });
    await expect(loadModel(later)).rejects.toThrow(
      /export\.json: version is 2, expected 1\. Update @trinity-rft\/local/,
    );
  });

  it('not with an adapter that is missing, or more requests than llama.cpp takes', async () => {
    for (const adapter of [path.join(scratch, 'nope.gguf'), './nope.gguf', '../nope.gguf'])
      await expect(loadModel(gguf, { ...settings, adapter })).rejects.toMatchObject({
        name: 'CheckpointError',
        code: 'MODEL_UNUSABLE',
        message: expect.stringContaining(`does not load the adapter ${adapter} for ${gguf}`),
      });
    await expect(loadModel(gguf, { ...settings, sequences: 1000 })).rejects.toMatchObject({
      code: 'MODEL_UNUSABLE',
      message: expect.stringContaining('Set a smaller maxModelLen or sequences.'),
    });
  });

  it('not where the file was cut short', async () => {
    const short = path.join(scratch, 'short.gguf');
    const bytes = await readFile(gguf);
    await writeFile(short, bytes.subarray(0, bytes.length / 2));
    await expect(loadModel(short, settings)).rejects.toThrow(/short\.gguf/);
  });
});

it('reports a fault to its owner, and hides the cause from clients', async () => {
  const faults: unknown[] = [];
  const fault = new Error('/srv/model is gone');
  const model = await loadModel(practice, {
    ...settings,
    watch: (sampler) => ({ ...sampler, policyVersion: 0, sample: () => Promise.reject(fault) }),
    onFault: (error) => void faults.push(error),
  });
  await expect(
    model
      .openai()
      .chat.completions.create({ model: 'm', messages: question('1') }, { maxRetries: 0 }),
  ).rejects.toMatchObject({
    status: 500,
    message: '500 The server failed to answer. Its log has the cause.',
  });
  expect(faults).toEqual([fault]);
  await model.close();
});
