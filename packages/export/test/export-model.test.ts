/** Exports of the practice model in every format, played by their runtimes. */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadTokenizer, readTokenizerFiles } from '@trinity-rft/chat';
import { openGguf } from '@trinity-rft/chat/gguf';
import { ConfigError } from '@trinity-rft/core';
import { writeManifest } from '@trinity-rft/core/engine';
import { createOnnxEngine } from '@trinity-rft/engine-onnx';
import { chatFormatOf, findModel, loadModel, type ChatSettings } from '@trinity-rft/local';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { compare } from '../src/check/compare.js';
import { embeddedPlayer } from '../src/check/embedded.js';
import { warningsOf } from '../src/check/limits.js';
import { openExported } from '../src/check/open-exported.js';
import type { PlayedPrompt, Player } from '../src/check/player.js';
import { transformersPlayer, transformersSampler } from '../src/check/transformers-js.js';
import {
  exportModel,
  readPrompts,
  renderExport,
  type ExportOptions,
  type ExportReport,
} from '../src/index.js';

const practice = fileURLToPath(
  new URL('../../../apps/create/templates/practice/model', import.meta.url),
);
let scratch = '';
/** The practice model with a chat template that supports tools and system messages. */
let model = '';
let adapted = '';

beforeAll(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'trinity-export-'));
  model = path.join(scratch, 'Practice model');
  await cp(practice, model, { recursive: true });
  adapted = path.join(scratch, 'adapted');
  const lora = { rank: 2, alpha: 4, seed: 1 };
  const engine = await createOnnxEngine({ modelPath: practice, lora, threads: 1 });
  await engine.trainer.save(adapted, { optimizer: true });
  await engine.close();
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

const folder = (name: string): string => path.join(scratch, name);

async function exported(
  name: string,
  options: Pick<ExportOptions, 'format'> & Partial<ExportOptions>,
  from = model,
): Promise<ExportReport> {
  const place = await findModel(from);
  const chat = { ...place.chat, tool_call_parser: 'hermes', max_model_len: 200 };
  return exportModel({ model: { ...place, chat }, directory: folder(name), check: {}, ...options });
}

const runtimes: readonly (readonly [ExportOptions['format'], string, number])[] = [
  ['gguf', 'F32', 1e-5],
  ['gguf', 'F16', 0.05],
  ['gguf', 'BF16', 0.2],
  ['gguf', 'Q8_0', 1],
  ['gguf', 'q6_k', 1],
  ['gguf', 'Q4_K', 1],
  ['transformersjs', 'fp32', 1e-5],
  ['transformersjs', 'fp16', 0.05],
  ['transformersjs', 'q8', 1],
  ['hf', 'float32', 0],
  ['hf', 'bfloat16', 0.2],
];

describe.each(runtimes)('%s in %s', (format, quantize, limit) => {
  it('renders, tokenizes, scores and answers as the checkpoint, within its limits', async () => {
    const report = await exported(`${format}-${quantize}`, { format, quantize });
    const check = report.check!;
    expect(check.faults).toEqual([]);
    expect(check.positions).toBeGreaterThan(100);
    expect(check.tokenIds.equal).toBe(check.tokenIds.of);
    expect(check.largestDifference).toBeLessThanOrEqual(limit);
    expect(renderExport(report, 'out')).toContain(`practice-model as ${format}`);
    const written = JSON.parse(
      await readFile(path.join(folder(`${format}-${quantize}`), 'export.json'), 'utf8'),
    ) as ExportReport;
    expect(written).toEqual(JSON.parse(JSON.stringify(report)));
  });
});

describe('an export', () => {
  it('is loaded by its folder, with the parser of training, and answers as the checkpoint', async () => {
    const messages = [{ role: 'user' as const, content: '12*34' }];
    const [before, after] = [
      await loadModel(model, { seed: 3 }),
      await loadModel(folder('gguf-F32'), { seed: 3, gpu: false, threads: 1 }),
    ];
    const [ours, theirs] = [
      await before.chat(messages, { temperature: 0, max_tokens: 16 }),
      await after.chat(messages, { temperature: 0, max_tokens: 16 }),
    ];
    expect(after.runtime).toBe('llama.cpp');
    expect(after.place.chat.tool_call_parser).toBe('hermes');
    expect(theirs.text).toBe(ours.text);
    await before.close();
    await after.close();
  });

  it('for transformers.js samples until a stop string, and no longer than it is wanted', async () => {
    const location = folder('transformersjs-fp32');
    const { decode, encode } = await loadTokenizer(location);
    const { sampler, close } = await transformersSampler(location, 'fp32', 200);
    const prompt = Int32Array.from(encode('12*34'));
    const options = { maxTokens: 12, temperature: 1, seed: 2 };
    const [whole] = await sampler.sample(prompt, options);
    const stop = [decode(whole!.tokens.subarray(2, 3))];
    const [cut] = await sampler.sample(prompt, { ...options, stop });
    expect(cut).toMatchObject({ stopReason: 'stop', stopString: stop[0] });
    expect([...cut!.tokens]).toEqual([...whole!.tokens.subarray(0, cut!.tokens.length)]);
    expect(cut!.tokens.length).toBeLessThanOrEqual(3);
    const early = { stopTokenIds: [...whole!.tokens], minTokens: 12 };
    const [late] = await sampler.sample(prompt, { ...options, ...early });
    expect(late!.tokens).toHaveLength(12);
    const unwanted = new AbortController();
    const sampled = sampler.sample(prompt, { ...options, n: 3 }, unwanted.signal);
    unwanted.abort();
    await expect(sampled).rejects.toMatchObject({ reason: 'aborted' });
    await close();
  });

  it('for transformers.js that cannot be chatted with is closed', async () => {
    const { PreTrainedModel } = await import('@huggingface/transformers');
    const disposed = vi.spyOn(PreTrainedModel.prototype, 'dispose');
    onTestFinished(() => disposed.mockRestore());
    const exportedModel = openExported({
      ...{ folder: folder('transformersjs-fp32'), file: '.', name: 'model', dtype: 'fp32' },
      ...{ target: 'transformersjs', chat: { tool_call_parser: 'none of ours' } },
      contextTokens: 200,
    });
    await expect(exportedModel).rejects.toThrow('none of ours');
    expect(disposed).toHaveBeenCalledOnce();
  });

  it('of an adapter alone is a GGUF file or a PEFT folder', async () => {
    const gguf = await exported(
      'lora-gguf',
      { format: 'gguf', adapterOnly: true, check: undefined },
      adapted,
    );
    expect(gguf).toMatchObject({ file: 'adapted-lora.gguf', numbers: 'F32' });
    expect(renderExport(gguf, 'a b')).toContain(
      "trinity serve --model 'NAME=BASE.gguf+a b/adapted-lora.gguf', or loadModel(",
    );
    const opened = openGguf(path.join(folder('lora-gguf'), gguf.file));
    opened.close();
    expect(new Set([...opened.tensors.values()].map(({ type }) => type))).toEqual(new Set(['F32']));
    const hf = { format: 'hf', adapterOnly: true, check: undefined } as const;
    expect((await exported('lora-hf', hf, adapted)).numbers).toBe('as stored');
    expect((await readdir(folder('lora-hf'))).toSorted()).toEqual([
      'README.md',
      'adapter_config.json',
      'adapter_model.safetensors',
      'export.json',
    ]);
    const card = await readFile(path.join(folder('lora-hf'), 'README.md'), 'utf8');
    expect(card).toContain('library_name: peft');
    const config = await readFile(path.join(folder('lora-hf'), 'adapter_config.json'), 'utf8');
    expect(JSON.parse(config)).toMatchObject({ base_model_name_or_path: 'model' });
  });

  it('names the hub id of its base model, not the folder in the cache', async () => {
    const run = folder('run');
    const base = path.join(scratch, 'models--Qwen--Qwen3-0.6B/snapshots/c1899de289a0');
    await cp(adapted, path.join(run, 'global_step_1'), { recursive: true });
    await writeManifest(path.join(run, 'global_step_1'), { step: 1, final: false });
    const stage = { stage_name: 'run', 'model.model_path': base };
    const settings = { stages: [{ ...stage, 'model.hub_id': 'Qwen/Qwen3-0.6B@main' }] };
    await writeFile(path.join(run, 'settings.json'), JSON.stringify(settings));
    const hf = { format: 'hf', check: undefined } as const;
    const whole = await exported('of-hub', hf, run);
    expect(whole.source.base).toBe('Qwen/Qwen3-0.6B');
    await exported('of-hub-lora', { ...hf, adapterOnly: true }, run);
    for (const [name, relation] of [
      ['of-hub', 'finetune'],
      ['of-hub-lora', 'adapter'],
    ] as const) {
      const card = await readFile(path.join(folder(name), 'README.md'), 'utf8');
      expect(card).toContain(`base_model: Qwen/Qwen3-0.6B\nbase_model_relation: ${relation}\n`);
    }
    const config = await readFile(path.join(folder('of-hub-lora'), 'adapter_config.json'), 'utf8');
    expect(JSON.parse(config)).toMatchObject({ base_model_name_or_path: 'Qwen/Qwen3-0.6B' });
  });

  it('is an adapter of a model that the embedded engine does not run', async () => {
    const from = folder('other family');
    await cp(adapted, from, { recursive: true });
    const config = path.join(from, 'config.json');
    const text = await readFile(config, 'utf8');
    await writeFile(config, text.replace(/("model_type": )"\w+"/, '$1"gpt_oss"'));
    const options = { format: 'hf', adapterOnly: true, check: undefined } as const;
    const report = await exported('of-other-family', options, from);
    expect(report.files.map((file) => file.path)).toContain('adapter_model.safetensors');
  });

  it('for Ollama passes prompts of unknown templates on, and says so', async () => {
    const report = await exported('ollama', { format: 'ollama', quantize: 'F16' });
    const modelfile = await readFile(path.join(folder('ollama'), 'Modelfile'), 'utf8');
    expect(modelfile).toBe(`FROM ./${report.file}
TEMPLATE """{{ .Prompt }}"""
PARAMETER stop "<|im_end|>"
PARAMETER num_ctx 200
PARAMETER temperature 1
PARAMETER top_k 0
PARAMETER top_p 1
PARAMETER repeat_penalty 1
`);
    expect(report.notes.join('\n')).toContain('send them with raw: true');
  });

  it.each([
    ['me/practice', 'me-practice', 'me/practice'],
    ['bot:7b', 'bot-7b', 'bot:7b'],
    ['me/Bot:7b', 'me-Bot-7b', 'me/bot:7b'],
    ['a.b/c', 'a.b-c'],
    ['-:7b', '7b'],
    ['Support Bot (v1)', 'Support-Bot-v1-'],
    ['../../escaped', 'escaped'],
    [`it's "x"\\`, 'it-s-x-'],
    ['日本', 'model'],
  ])(
    'named %s has files of its own folder, and a program that can be read',
    async (name, own, ollama = own.toLowerCase()) => {
      const to = folder(`named-${own}`);
      const before = await readdir(scratch);
      const shown = {
        ollama: `ollama create ${ollama} -f Modelfile`,
        gguf: `${own}-Q8_0.gguf`,
      };
      for (const format of ['ollama', 'gguf'] as const) {
        const directory = path.join(to, format);
        const report = await exported('', { format, name, directory, check: undefined });
        expect(report).toMatchObject({ name, file: `${own}-Q8_0.gguf` });
        expect(await readdir(directory)).toContain(report.file);
        const program = await readFile(path.join(directory, 'chat.mjs'), 'utf8');
        // The program has the syntax of plain JavaScript.
        expect(stripTypeScriptTypes(program)).toBe(program);
        expect(program).toContain(`"${report.file}"`);
        expect(program).toContain(shown[format]);
        const needs = 'npm install --ignore-scripts node-llama-cpp';
        expect(renderExport(report, directory).includes(needs)).toBe(format === 'gguf');
        expect(renderExport(report, 'a b')).toContain('Try it: node \'a b/chat.mjs\' "..."');
        await mkdir(path.join(to, 'node_modules', 'node-llama-cpp'), { recursive: true });
        expect(renderExport(report, directory)).not.toContain(needs);
        await rm(path.join(to, 'node_modules'), { recursive: true });
        if (format !== 'ollama') continue;
        expect(program).toContain(`model: ${JSON.stringify(ollama)}`);
        expect(report.notes.join('\n')).toContain(shown.ollama);
      }
      const added = (await readdir(scratch)).filter((each) => !before.includes(each));
      expect(added).toEqual([path.basename(to)]);
    },
  );

  it('has the template of training where that is not the one of the folder', async () => {
    const place = await findModel(model);
    const template = '{% for m in messages %}{{ m.content }}={% endfor %}';
    for (const format of ['gguf', 'transformersjs', 'hf'] as const) {
      const chat = { chat_template: template, max_model_len: 200 };
      const directory = folder(`template-${format}`);
      const report = await exportModel({ model: { ...place, chat }, format, directory, check: {} });
      expect(report.check?.faults).toEqual([]);
      if (format === 'transformersjs') continue;
      const loaded = await loadModel(directory, { gpu: false });
      expect(loaded.render([{ role: 'user', content: '1+1' }]).text).toBe('1+1=');
      await loaded.close();
    }
  });
});

describe('an export of a model whose template ends turns with another token than its eos', () => {
  const ending = () => folder('ending');
  beforeAll(async () => {
    await cp(practice, ending(), { recursive: true });
    const change = async (name: string, from: string, to: string): Promise<void> => {
      const file = path.join(ending(), name);
      await writeFile(file, (await readFile(file, 'utf8')).replace(from, to));
    };
    await change('chat_template.jinja', 'eos_token', "'<|im_end|>'");
    await change('tokenizer_config.json', '"eos_token": "<|im_end|>"', '"eos_token": "<unk>"');
    for (const name of ['config.json', 'generation_config.json'])
      await change(name, '"eos_token_id": 1', '"eos_token_id": 0');
  });

  it.each([
    ['transformersjs', 'fp32'],
    ['hf', 'float32'],
    ['gguf', 'F32'],
  ] as const)('stops there in %s', async (format, quantize) => {
    const directory = folder(`ending-${format}`);
    const report = await exportModel({
      model: await findModel(ending()),
      ...{ format, quantize, directory },
    });
    const { generationConfig } = await readTokenizerFiles(path.join(directory, report.file));
    expect(generationConfig?.['eos_token_id']).toHaveLength(2);
    expect(generationConfig?.['eos_token_id']).toEqual(expect.arrayContaining([0, 1]));
  });

  it('answers with transformers.js as the checkpoint', async () => {
    const directory = folder('answering');
    const place = await findModel(ending());
    const fp32 = { format: 'transformersjs', quantize: 'fp32' } as const;
    await exportModel({ model: place, ...fp32, directory });
    const format = chatFormatOf(await loadTokenizer(ending()), {});
    const ids = format.encode(format.render({ messages: [{ role: 'user', content: '12*34' }] }));
    const answers: (readonly number[])[] = [];
    for (const open of [
      () => embeddedPlayer(ending(), format),
      () => transformersPlayer(directory, 'fp32'),
    ]) {
      const player = await open();
      answers.push([...(await player.greedy(ids, 64))]);
      await player.close();
    }
    expect(answers[0]!.length).toBeLessThan(64);
    expect(answers[1]).toEqual(answers[0]);
  });
});

describe('the generation_config.json of an export', () => {
  const changed = async (
    name: string,
    files: Readonly<Record<string, object | string | undefined>>,
  ): Promise<string> => {
    const from = folder(name);
    await cp(practice, from, { recursive: true });
    await rm(path.join(from, 'generation_config.json'));
    for (const [file, change] of Object.entries(files)) {
      const at = path.join(from, file);
      if (typeof change === 'string') await writeFile(at, change);
      else {
        const fields = JSON.parse(await readFile(at, 'utf8').catch(() => '{}')) as object;
        await writeFile(at, JSON.stringify({ ...fields, ...change }));
      }
    }
    return from;
  };
  const ids = { bos_token_id: 3, pad_token_id: 2 };

  it.each([
    ['has the ids of config.json', { 'config.json': ids }, { ...ids, eos_token_id: [1] }],
    [
      'ends where training and config.json do',
      { 'config.json': { eos_token_id: [0, 2] } },
      { eos_token_id: [1, 0, 2] },
    ],
    [
      'ends where config.json does, if the tokenizer has no end',
      {
        'config.json': { eos_token_id: [0, 1] },
        'tokenizer_config.json': { eos_token: null },
        'chat_template.jinja':
          '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: ',
      },
      { eos_token_id: [0, 1] },
    ],
    [
      'keeps its other settings, and is not replaced by config.json',
      { 'generation_config.json': { _from_model_config: true, top_k: 5, pad_token_id: 0 } },
      { pad_token_id: 0, eos_token_id: [1], top_k: 5 },
    ],
  ])('%s', async (name, files, expected) => {
    const from = await changed(`source ${name}`, files);
    for (const format of ['hf', 'transformersjs'] as const) {
      const directory = folder(`${format} ${name}`);
      await exportModel({ model: await findModel(from), format, directory });
      const text = await readFile(path.join(directory, 'generation_config.json'), 'utf8');
      expect(JSON.parse(text)).toEqual(expected);
    }
  });
});

describe('an export of a model that was trained without thinking', () => {
  const chat_template = `{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and not enable_thinking %}0=0
{% endif %}{% endif %}`;
  const chat = { chat_template, enable_thinking: false, reasoning_parser: 'qwen3' };
  const exportedAs = async (
    format: ExportOptions['format'],
    options: Partial<ExportOptions> = {},
  ) =>
    exportModel({
      model: { ...(await findModel(model)), chat: { ...chat, max_model_len: 200 } },
      directory: folder(`no-thinking-${format}`),
      format,
      ...options,
    });

  it.each(['gguf', 'transformersjs', 'hf'] as const)(
    'renders prompts as training did, and says so, in %s',
    async (format) => {
      const { check, notes } = await exportedAs(format, { check: {} });
      expect(check?.faults).toEqual([]);
      expect(check?.renderedPrompts.equal).toBe(check?.renderedPrompts.of);
      expect(notes.join('\n')).toContain('trained with enable_thinking: false');
    },
  );

  it('has no Ollama template that lets it think, and reads the thoughts in chat.mjs', async () => {
    await exportedAs('ollama');
    const read = (format: string, file: string): Promise<string> =>
      readFile(path.join(folder(`no-thinking-${format}`), file), 'utf8');
    expect(await read('ollama', 'Modelfile')).toContain('TEMPLATE """{{ .Prompt }}"""');
    for (const format of ['ollama', 'transformersjs'])
      expect(await read(format, 'chat.mjs')).toContain(
        ', reasoningParser: "qwen3", enableThinking: false });',
      );
  });
});

describe('an export of a model that was trained with tools in its messages', () => {
  const chat_template = `{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;
  const chat = { chat_template, tool_prompt: 'generic' };
  /** The practice model with room for the description of tools. */
  const wide = () => folder('wide');
  beforeAll(async () => {
    await cp(practice, wide(), { recursive: true });
    const file = path.join(wide(), 'config.json');
    const config = JSON.parse(await readFile(file, 'utf8')) as object;
    await writeFile(file, JSON.stringify({ ...config, max_position_embeddings: 1024 }));
  });

  it.each(['gguf', 'ollama', 'transformersjs', 'hf'] as const)(
    'renders them in %s',
    async (format) => {
      const directory = folder(`tools-${format}`);
      const place = { ...(await findModel(wide())), chat };
      const report = await exportModel({ model: place, format, directory, check: {} });
      expect(report.check?.faults).toEqual([]);
      const { equal, of } = report.check!.renderedPrompts;
      expect([equal, of]).toEqual([6, 6]);
      expect(report.notes.join('\n')).not.toContain('template "chatml"');
      if (format !== 'transformersjs' && format !== 'ollama') return;
      const program = await readFile(path.join(directory, 'chat.mjs'), 'utf8');
      expect(program).toContain(', toolPrompt: "generic" });');
    },
  );
});

describe('an export that cannot be made leaves nothing behind', () => {
  it.each<[string, RegExp, Partial<ExportOptions> & Pick<ExportOptions, 'format'>]>([
    [
      'another number format',
      /--quantize is "q3"\. For --to gguf, expected one of F32, F16, BF16/,
      { format: 'gguf', quantize: 'q3' },
    ],
    [
      'a folder in use',
      /is not empty: it holds chat_template\.jinja/,
      { format: 'hf', directory: practice },
    ],
    [
      'a file in place of the folder',
      /config\.json is a file/,
      { format: 'hf', directory: path.join(practice, 'config.json') },
    ],
    ['a blank name', /--name is " "\. Expected a name of one line/, { format: 'hf', name: ' ' }],
    ['a name of two lines', /--name is "a\\nb"/, { format: 'ollama', name: 'a\nb' }],
    [
      'an adapter that is not there',
      /has no lora_adapter: all weights were trained/,
      { format: 'gguf', adapterOnly: true, check: undefined },
    ],
    [
      'an adapter in another number format',
      /--quantize is "F16", but an adapter alone is written in one number format \(F32\)/,
      { format: 'gguf', adapterOnly: true, quantize: 'F16' },
    ],
    [
      'an adapter that is checked',
      /--check plays whole models\. .*with those of loadModel\(BASE\.gguf, \{ adapter \}\)/,
      { format: 'gguf', adapterOnly: true, check: {} },
    ],
    [
      'an adapter for PEFT that is checked',
      /--check plays whole models\. .*with those that PEFT computes/,
      { format: 'hf', adapterOnly: true, check: {} },
    ],
    [
      'an adapter for transformers.js',
      /--adapter-only needs --to gguf or --to hf/,
      { format: 'transformersjs', adapterOnly: true },
    ],
  ])('%s', async (_, message, options) => {
    const before = await readdir(scratch);
    const refused = exported('none', options);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toThrow(ConfigError);
    expect(await readdir(scratch)).toEqual(before);
  });

  it.each<[string, number]>([
    ['before it starts', 0],
    ['while it writes', 1],
  ])('an export that is stopped %s', async (_, lines) => {
    const before = await readdir(scratch);
    for (const format of ['gguf', 'ollama', 'transformersjs', 'hf'] as const) {
      const stop = new AbortController();
      const reason = new Error('The process received SIGINT.');
      let said = 0;
      const onProgress = (): void => {
        if (++said === lines) stop.abort(reason);
      };
      if (lines === 0) stop.abort(reason);
      const options = { format, signal: stop.signal, onProgress, check: undefined };
      await expect(exported('stopped', options)).rejects.toBe(reason);
      expect(said).toBe(lines);
    }
    expect(await readdir(scratch)).toEqual(before);
  });

  it('an export that is stopped beside the draft of one that was killed, which it names', async () => {
    const draft = folder('stopped.partial-7-3f2504e0-4f89-11d3-9a0c-0305e82c3301');
    await mkdir(draft);
    const stop = new AbortController();
    const onProgress = (line: string): void => stop.abort(line);
    const options = { format: 'hf', signal: stop.signal, onProgress } as const;
    await expect(exported('stopped', options)).rejects.toBe(
      `${draft} is of an export that was killed. Delete it, unless it is still being written.`,
    );
    await rmdir(draft);
  });

  it.each(['gguf', 'ollama'] as const)('a GGUF file for %s', async (format) => {
    const file = path.join(folder('gguf-F32'), 'practice-model-F32.gguf');
    const before = await readdir(scratch);
    await expect(exported('none', { format }, file)).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringMatching(/is a GGUF file, .* name the checkpoint or model folder/),
    });
    expect(await readdir(scratch)).toEqual(before);
  });

  it('a checkpoint that was cut short', async () => {
    const short = folder('short');
    await cp(model, short, { recursive: true });
    const weights = await readFile(path.join(short, 'model.safetensors'));
    await writeFile(path.join(short, 'model.safetensors'), weights.subarray(0, 5000));
    const before = await readdir(scratch);
    for (const format of ['gguf', 'transformersjs', 'hf'] as const)
      await expect(exported('none', { format }, short)).rejects.toThrow('model.safetensors');
    expect(await readdir(scratch)).toEqual(before);
  });

  it('a family that llama.cpp computes otherwise', async () => {
    const other = folder('gelu');
    await cp(model, other, { recursive: true });
    const file = path.join(other, 'config.json');
    const config = JSON.parse(await readFile(file, 'utf8')) as object;
    await writeFile(file, JSON.stringify({ ...config, hidden_act: 'gelu' }));
    const before = await readdir(scratch);
    await expect(exported('none', { format: 'gguf' }, other)).rejects.toThrow(
      /config\.json.*hidden_act.*gelu/s,
    );
    expect(await readdir(scratch)).toEqual(before);
    const report = await exported(
      'gelu-tjs',
      { format: 'transformersjs', quantize: 'fp32' },
      other,
    );
    expect(report.check?.faults).toEqual([]);
  });
});

it('reads prompts of a file with a byte order mark, and says what is wrong with a line', async () => {
  const file = path.join(scratch, 'prompts.jsonl');
  await writeFile(file, '\uFEFF{"prompt": "a"}\r\n{"prompt": "b"}\r\n');
  const prompts = await readPrompts(file);
  expect(prompts.map(({ messages }) => messages[0]?.content)).toEqual(['a', 'b']);
  await writeFile(file, "{'prompt': 'a'}\n");
  await expect(readPrompts(file)).rejects.toThrow(/prompts\.jsonl:1 is not JSON: Expected/);
});

it('takes answers of equal tokens for equal, though the decoders differ in an added token', async () => {
  const format = chatFormatOf(await loadTokenizer(practice), {});
  const playerOf = (text: string, answer: string): Player => ({
    render: (input) => format.render(input),
    encode: (prompt) => format.encode(prompt),
    decode: () => text,
    score: async (tokens) => ({ logprobs: new Float64Array(tokens.length - 1) }),
    greedy: async () => format.encode(answer),
    close: async () => undefined,
  });
  const prompts = [{ messages: [{ role: 'user', content: '1*2=' }], tools: undefined }] as const;
  const options = { format, parsesCalls: false, answerTokens: 8, mostTokens: 9999 };
  const equalTexts = async (answer: string): Promise<number> => {
    const [ours, theirs] = [playerOf('na\uFFFDve', '2'), playerOf('na\u00EFve', answer)];
    return (await compare(ours, theirs, prompts, options)).greedyTexts.equal;
  };
  expect([await equalTexts('2'), await equalTexts('3')]).toEqual([1, 0]);
});

describe('tool calls that the template writes again', () => {
  const calling = (space = ' '): string =>
    `<tool_call>\n{"name": "add", "arguments": {"a":${space}1}}\n</tool_call>`;
  const tools = [
    {
      type: 'function',
      function: {
        name: 'add',
        parameters: { type: 'object', properties: { a: { type: 'number' } } },
      },
    },
  ] as const;
  const question = [{ role: 'user', content: '1*2=' }] as const;
  const nothing = { equal: 0, of: 0 };
  const [kept, lost] = [
    { equal: 1, of: 1 },
    { equal: 0, of: 1 },
  ];

  interface Case {
    readonly template?: string;
    readonly answer: string;
    readonly chat?: ChatSettings;
    readonly prompt?: Partial<PlayedPrompt>;
    readonly answerTokens?: number;
    readonly share: object | undefined;
  }

  it.each<[string, Case]>([
    ['in the same tokens', { answer: calling(), share: kept }],
    ['in other tokens', { answer: calling(''), share: lost }],
    ['after reasoning', { answer: `<think>\nHm.\n</think>\n\n${calling()}`, share: kept }],
    [
      'without the empty think block of the answer',
      { answer: `<think>\n\n</think>\n\n${calling()}`, share: lost },
    ],
    [
      'without the empty think block of the prompt',
      { answer: calling(), chat: { enable_thinking: false }, share: lost },
    ],
    [
      'in the words of tool_prompt',
      { answer: calling(), chat: { tool_prompt: 'generic' }, share: kept },
    ],
    [
      'after a recorded prompt',
      { answer: calling(), prompt: { tools: undefined, text: '1*2=' }, share: kept },
    ],
    ['at the limit of the comparison', { answer: calling(), answerTokens: 10, share: kept }],
    [
      'though the answer does not end',
      { answer: Array(20).fill(calling()).join('\n'), answerTokens: 32, share: nothing },
    ],
    ['though one is malformed', { answer: `${calling()}<tool_call>{"na`, share: nothing }],
    [
      'with ids that the model does not write',
      {
        template: 'mistral-nemo',
        answer: '[TOOL_CALLS][{"name": "add", "arguments": {"a": 1}}]',
        chat: { tool_call_parser: 'mistral' },
        share: nothing,
      },
    ],
    [
      'but the prompt has no tools',
      {
        answer: '{"name": "Oslo", "parameters": {"a": 1}}',
        chat: { tool_call_parser: 'llama3_json' },
        prompt: { tools: undefined },
        share: nothing,
      },
    ],
    [
      'but the prompt ends within an answer',
      {
        answer: calling(),
        prompt: { messages: [...question, { role: 'assistant', content: 'It' }] },
        share: nothing,
      },
    ],
    ['but there are none', { answer: '2', share: nothing }],
  ])('%s', async (_, { template = 'qwen3', answer, chat, prompt, answerTokens = 500, share }) => {
    const file = new URL(`../../chat/test/fixtures/templates/${template}.jinja`, import.meta.url);
    const format = chatFormatOf(await loadTokenizer(practice), {
      chat_template: await readFile(file, 'utf8'),
      reasoning_parser: 'auto',
      tool_call_parser: 'hermes',
      ...chat,
    });
    const ids = format.encode(answer);
    const begun = (all: Int32Array): number =>
      [...ids.keys(), ids.length].toReversed().find((n) => isSuffix(ids.subarray(0, n), all)) ?? 0;
    const player: Player = {
      render: (input) => format.render(input),
      encode: (text) => format.encode(text),
      decode: (tokens) => format.tokenizer.decode(tokens),
      score: async (tokens) => ({ logprobs: new Float64Array(tokens.length - 1) }),
      greedy: async (all, most) => ids.subarray(begun(all), begun(all) + most),
      close: async () => undefined,
    };
    const prompts = [{ messages: question, tools, ...prompt }];
    const options = { format, parsesCalls: true, answerTokens, mostTokens: 9999 };
    const parity = await compare(player, player, prompts, options);
    expect(parity.leftOut).toBe(0);
    expect(parity.renderedAgain).toEqual(share);
    expect(warningsOf(parity)).toHaveLength(share === lost ? 1 : 0);
    const without = await compare(player, player, prompts, { ...options, parsesCalls: false });
    expect(without.renderedAgain).toBeUndefined();
  });
});

const isSuffix = (end: Int32Array, whole: Int32Array): boolean =>
  end.every((id, i) => whole[whole.length - end.length + i] === id);
