import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diskAt, quantizationOf } from '../src/internal.js';
import { createWorkspace, parse, problems, yaml } from './workspace.js';

const cwd = createWorkspace();
const wholeModel = new URL('../../engine-onnx/test/fixtures/llama/model.gguf', import.meta.url);

const messages = (): readonly string[] =>
  problems(cwd, yaml({ model: 'model:\n  model_path: ./model.bin' })).map(({ message }) => message);

describe('a quantised file', () => {
  const file = wholeModel.pathname;
  it('is trained beside as it is, unless the configuration says otherwise', () => {
    const { model } = parse(
      cwd,
      yaml({ model: 'model:\n  model_path: ./tiny\n  lora_configs: [{}]' }),
    ).config.stages[0];
    const disk = diskAt(cwd);
    expect(quantizationOf({ ...model, modelPath: file }, disk)).toBe('file');
    expect(
      quantizationOf({ ...model, modelPath: file, quantization: 'none' }, disk),
    ).toBeUndefined();
    expect(quantizationOf({ ...model, modelPath: file, lora: undefined }, disk)).toBeUndefined();
    expect(quantizationOf(model, disk)).toBeUndefined();
    expect(quantizationOf({ ...model, quantization: 'int4' }, disk)).toBe('int4');
  });
});

describe('a stage after one that trains beside quantised weights', () => {
  const saying = (second: string): readonly string[] =>
    problems(
      cwd,
      `model: { model_path: ./tiny, lora_configs: [{}] }
buffer: { total_steps: 1, train_batch_size: 1, trainer_input: { experience_buffer: { name: rows, storage_type: file, path: ./tasks.jsonl } } }
algorithm: { algorithm_type: sft }
stages:
  - { stage_name: a, mode: train, model: { quantization: int8 } }
  - { stage_name: b, mode: train, model: { ${second} } }
`,
    ).map(({ message }) => message);

  it('has no weights to start from, whatever it trains itself', () => {
    const refusal = expect.stringContaining('beside quantised weights (int8)');
    expect(saying('quantization: none')).toEqual([refusal]);
    expect(saying('lora_configs: []')).toEqual([refusal]);
  });

  it('may name weights of its own', () => {
    expect(saying('quantization: none, model_path: ./tiny')).toEqual([]);
  });
});

describe('a file as the model', () => {
  it('is refused when it is not GGUF, or cut short', () => {
    writeFileSync(join(cwd, 'model.bin'), 'PK, a zip file');
    expect(messages()).toEqual([
      expect.stringMatching(
        /model\.bin is not a complete GGUF file: it does not begin with "GGUF"/,
      ),
    ]);
    writeFileSync(join(cwd, 'model.bin'), readFileSync(wholeModel).subarray(0, 400));
    expect(messages()).toEqual([expect.stringMatching(/is not a complete GGUF file: it ends/)]);
  });

  it('is refused when it holds no tokenizer', () => {
    writeFileSync(join(cwd, 'model.bin'), readFileSync(wholeModel));
    expect(messages()).toEqual([
      expect.stringMatching(/model\.bin cannot be used: it holds no tokenizer\. Give the file/),
    ]);
  });
});
