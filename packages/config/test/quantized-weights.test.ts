/** Tests which weights each stage starts with, which the checks, the plan and the launcher read. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { planConfig } from '../src/index.js';
import { writeQuantizedFile } from './quantized-file.js';
import { createWorkspace, engines, modelShape, parse, problems } from './workspace.js';

const cwd = createWorkspace();
const file = join(cwd, 'q8_0.gguf');
const allLayers = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];

beforeAll(async () => {
  await writeQuantizedFile(file);
  storeAdapter('whole', { target_modules: allLayers });
  storeAdapter('narrow', { target_modules: ['self_attn.v_proj', 'self_attn.q_proj'] });
  storeCheckpoint('of-int8', join(cwd, 'tiny'), { quantization: 'int8' });
  storeCheckpoint('of-file', file, { quantization: 'file' });
  storeCheckpoint('of-floats', join(cwd, 'tiny'), {});
});

function storeAdapter(folder: string, keys: Readonly<Record<string, unknown>>): void {
  mkdirSync(join(cwd, folder), { recursive: true });
  const text = JSON.stringify({ r: 8, lora_alpha: 16, ...keys });
  writeFileSync(join(cwd, folder, 'adapter_config.json'), text);
}

/** Stores a checkpoint that holds an adapter alone. */
function storeCheckpoint(folder: string, below: string, record: object): void {
  const keys = { target_modules: ['q_proj', 'v_proj'], base_model_name_or_path: below };
  storeAdapter(`${folder}/lora_adapter`, keys);
  writeFileSync(join(cwd, folder, 'lora_adapter/base_model.json'), JSON.stringify(record));
  writeFileSync(join(cwd, folder, 'config.json'), JSON.stringify(modelShape));
}

const vllm = 'rollout_model: { engine_type: vllm, base_url: "http://127.0.0.1:8000" }';
const adapter = 'lora_configs: [{}]';
const small = 'lora_configs: [{ lora_rank: 8, lora_alpha: 16, target_modules: [q_proj, v_proj] }]';

interface Given {
  /** Keys of the section `model` at the top level. */
  readonly shared?: string;
  /** Keys of the section `model` of each stage. */
  readonly stages: readonly string[];
  readonly explorer?: string;
  readonly mode?: string;
}

const textOf = ({ shared, stages, explorer = '', mode = 'both' }: Given): string =>
  `mode: ${mode}
model: { ${shared ?? `model_path: ./tiny, ${adapter}`} }
algorithm: { algorithm_type: grpo, repeat_times: 2 }
explorer: { ${explorer} }
buffer: { total_steps: 1, batch_size: 1, explorer_input: { taskset: &tasks { path: ./tasks.jsonl, default_workflow_type: math_workflow }, eval_tasksets: [*tasks] } }
stages: [${stages.map((model, i) => `{ stage_name: s${i}, model: { ${model} } }`).join(', ')}]
`;

const refusals = (given: Given): readonly string[] =>
  problems(cwd, textOf(given)).map(({ key, message }) => `${key}: ${message}`);
const stagesOf = (given: Given) => parse(cwd, textOf(given)).config.stages;
const kindsOf = (given: Given) => stagesOf(given).map(({ model }) => model.base.quantization);
const memoryOf = (given: Given) =>
  planConfig(parse(cwd, textOf(given)).config).stages.map(({ memory }) => memory);

/** Matches a text that contains the parts in this order. */
const saying = (...parts: readonly string[]) =>
  expect.stringMatching(
    parts.map((part) => part.replaceAll(/[.()[\]]/g, String.raw`\$&`)).join('.*'),
  ) as string;

describe('the weights of a stage', () => {
  const gguf = `model_path: ./q8_0.gguf, ${adapter}`;
  it.each<readonly [string, Given, readonly unknown[]]>([
    ['a quantised file keeps its format', { shared: gguf, stages: [''] }, ['file']],
    ['only below an adapter', { shared: 'model_path: ./q8_0.gguf', stages: [''] }, [undefined]],
    ['a given value wins', { shared: gguf, stages: ['quantization: int4'] }, ['int4']],
    ['a folder holds floats', { stages: [''] }, [undefined]],
    ['later stages continue', { stages: ['quantization: int8', '', ''] }, ['int8', 'int8', 'int8']],
    ['from the file as well', { shared: gguf, stages: ['', ''] }, ['file', 'file']],
    [
      'floats stay floats, though the file has integers',
      { shared: gguf, stages: ['quantization: none', ''] },
      [undefined, undefined],
    ],
    [
      'a checkpoint in floats is rounded',
      { stages: ['quantization: none', 'quantization: int8'] },
      [undefined, 'int8'],
    ],
    [
      'a model of its own begins anew',
      { stages: ['quantization: int8', 'model_path: ./q8_0.gguf', 'model_path: ./tiny'] },
      ['int8', 'file', undefined],
    ],
    [
      'a checkpoint of another run is continued',
      { shared: `model_path: ./of-int8, ${small}`, stages: ['', ''] },
      ['int8', 'int8'],
    ],
    [
      'unless its adapter is merged',
      { shared: `model_path: ./of-floats, ${small}`, stages: [''] },
      [undefined],
    ],
  ])('%s', (_, given, kinds) => expect(kindsOf(given)).toEqual(kinds));

  it('is that of floats where the engine cannot quantise', () => {
    const { onnx } = engines;
    const capabilities = { ...onnx.capabilities, quantization: false };
    const options = { engines: { own: { name: 'own', capabilities } } };
    const text = textOf({ shared: gguf, stages: ['', ''], explorer: vllm });
    const { stages } = parse(cwd, text, options).config;
    expect(stages.map(({ model }) => model.base.quantization)).toEqual([undefined, undefined]);
    const continuing = textOf({ shared: `model_path: ./of-int8, ${small}`, stages: [''] });
    expect(problems(cwd, continuing, options).map(({ message }) => message)).toEqual([
      saying('the engine "own" does not quantise, but this stage continues', 'of-int8'),
    ]);
  });

  it('may be read without an adapter to train', () => {
    expect(kindsOf({ mode: 'bench', shared: 'model_path: ./of-int8', stages: [''] })).toEqual([
      'int8',
    ]);
  });
});

describe('another program that samples is refused', () => {
  const refused = 'another program samples, from weights that are not quantised';

  it('for a given value, and for a stage that continues', () => {
    expect(refusals({ stages: ['quantization: int8', ''], explorer: vllm })).toEqual([
      saying('explorer.rollout_model.base_url: is set', 'previous stage', '(int8)', refused),
      saying('stages[0].model.quantization: got "int8"', refused, 'Use none'),
    ]);
  });

  it('for a quantised file, unless its weights become floats', () => {
    const shared = `model_path: ./q8_0.gguf, ${adapter}`;
    expect(refusals({ shared, stages: [''], explorer: vllm })).toEqual([
      saying('model.model_path: got ', file, refused, 'Set model.quantization: none'),
    ]);
    expect(refusals({ shared, stages: ['quantization: none', ''], explorer: vllm })).toEqual([]);
    expect(refusals({ shared: 'model_path: ./q8_0.gguf', stages: [''], explorer: vllm })).toEqual(
      [],
    );
  });

  it('for a checkpoint of another run', () => {
    const shared = `model_path: ./of-file, ${small}`;
    expect(refusals({ shared, stages: [''], explorer: vllm })).toEqual([
      saying('base_url', 'of-file, which was trained on quantised weights (file)', refused),
    ]);
  });
});

describe('a stage that continues', () => {
  const stored = (folder: string): string =>
    `quantization: int8, lora_configs: [{ path: ./${folder} }]`;

  it('needs rank, alpha and layers of an adapter that began in a folder', () => {
    const refused = (second: string, from = 'narrow') =>
      refusals({ stages: [stored(from), second] });
    expect(refused(small)).toEqual([]);
    expect(refused('lora_configs: [{ lora_rank: 8, lora_alpha: 16 }]', 'whole')).toEqual([]);
    expect(refused('lora_configs: [{ lora_rank: 4, lora_alpha: 16 }]')).toEqual([
      saying('stages[1].model.lora_configs: got rank 4', 'rank 8, alpha 16, v_proj, q_proj. Use'),
    ]);
    expect(refused('lora_configs: [{ lora_rank: 8, lora_alpha: 16 }]')).toEqual([
      saying('lora_configs: got rank 8, alpha 16, all-linear', 'rank 8, alpha 16, v_proj, q_proj'),
    ]);
    expect(refused(small.replace('v_proj', 'k_proj'))).toEqual([
      saying('got rank 8, alpha 16, q_proj, k_proj'),
    ]);
  });

  it('may list the layers in another order, or all of them', () => {
    const names = allLayers.toReversed().join(', ');
    const stages = ['quantization: int8', `lora_configs: [{ target_modules: [${names}] }]`];
    expect(refusals({ stages })).toEqual([]);
  });

  it('is checked against the checkpoint of another run', () => {
    const refused = (keys: string, mode = 'both') =>
      refusals({ shared: `model_path: ./of-int8, ${keys}`, stages: [''], mode });
    const found = 'of-int8, which was trained on quantised weights (int8)';
    expect(refused(small)).toEqual([]);
    expect(refused(`${small}, quantization: int8`)).toEqual([]);
    for (const kind of ['none', 'int4', 'file'])
      expect(refused(`${small}, quantization: ${kind}`)).toEqual([
        saying(`model.quantization: got "${kind}"`, found, 'Use int8, or give another model_path'),
      ]);
    expect(refused('')).toEqual([
      saying('lora_configs: is not set', found, ': rank 8, alpha 16, q_proj, v_proj. Set the same'),
    ]);
    expect(refused(adapter)).toEqual([saying('lora_configs: got rank 32', found)]);
    expect(refused(`${small}, device: webgpu`)).toEqual([saying('got "webgpu"', found)]);
    expect(refused('', 'bench')).toEqual([]);
  });
});

describe('the device', () => {
  it('may be a GPU after a stage in floats over a quantised file', () => {
    const shared = `model_path: ./q8_0.gguf, ${adapter}`;
    expect(refusals({ shared, stages: ['quantization: none', 'device: webgpu'] })).toEqual([]);
    expect(refusals({ shared, stages: ['', 'device: webgpu'] })).toEqual([
      saying('stages[1].model.device: got "webgpu"', 'previous stage trains', '(file)'),
    ]);
  });
});

describe('the memory of a stage', () => {
  const shared = `model_path: ./q8_0.gguf, ${adapter}`;
  it('is that of the stage which it continues', () => {
    for (const kind of ['none', 'int4', 'file']) {
      const [first, second] = memoryOf({ shared, stages: [`quantization: ${kind}`, ''] });
      expect(second).toEqual(first);
    }
    const [floats, integers] = ['none', 'file'].map(
      (kind) => memoryOf({ shared, stages: [`quantization: ${kind}`, ''] })[1]!.weights,
    );
    expect(floats).toBeGreaterThan(integers!);
  });

  it('counts the file below the checkpoint of another run', () => {
    const [memory] = memoryOf({ shared: `model_path: ./of-file, ${small}`, stages: [''] });
    const [ofFile] = memoryOf({ shared: `model_path: ./q8_0.gguf, ${small}`, stages: [''] });
    expect(memory!.weights - memory!.gradients).toBeCloseTo(ofFile!.weights - ofFile!.gradients, 9);
  });
});

describe('a model that only an earlier stage names', () => {
  it('is the model of the stages after it', () => {
    const stages = ['model_path: ./q8_0.gguf', ''];
    for (const shared of [adapter, `model_path: ./tiny, ${adapter}`]) {
      const [first, second] = memoryOf({ shared, stages });
      expect(second).toEqual(first);
      expect(stagesOf({ shared, stages })[1]?.model).toMatchObject({
        modelPath: file,
        fromPreviousStage: true,
        base: { quantization: 'file' },
      });
    }
  });

  it('is refused once', () => {
    expect(refusals({ shared: adapter, stages: ['model_path: ./no-config', ''] })).toEqual([
      saying('stages[0].model.model_path: got "./no-config"'),
    ]);
    expect(refusals({ shared: adapter, stages: ['', ''] })).toEqual([
      saying('model.model_path: is not set'),
    ]);
  });
});
