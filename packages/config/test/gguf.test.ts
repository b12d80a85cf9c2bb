import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createWorkspace, problems, yaml } from './workspace.js';

const cwd = createWorkspace();
const wholeModel = new URL('../../engine-onnx/test/fixtures/llama/model.gguf', import.meta.url);

const messages = (): readonly string[] =>
  problems(cwd, yaml({ model: 'model:\n  model_path: ./model.bin' })).map(({ message }) => message);

describe('a stage after one that trains beside quantised weights', () => {
  const saying = (second: string, first = 'int8'): readonly string[] =>
    problems(
      cwd,
      `model: { model_path: ./tiny, lora_configs: [{}] }
buffer: { total_steps: 1, train_batch_size: 1, trainer_input: { experience_buffer: { name: rows, storage_type: file, path: ./tasks.jsonl } } }
algorithm: { algorithm_type: sft }
stages:
  - { stage_name: a, mode: train, model: { quantization: ${first} } }
  - { stage_name: b, mode: train, model: { ${second} } }
`,
    ).map(({ message }) => message);

  it('continues the adapter', () => {
    expect(saying('')).toEqual([]);
    expect(saying('quantization: int8')).toEqual([]);
  });

  it('is refused whenever it would train something else', () => {
    const refusal = (start: string) =>
      expect.stringMatching(`${start}.* the adapter that .* on quantised weights \\(int8\\)`);
    expect(saying('quantization: none')).toEqual([refusal('got "none"')]);
    expect(saying('quantization: int4')).toEqual([refusal('got "int4"')]);
    expect(saying('device: webgpu')).toEqual([refusal('got "webgpu"')]);
    expect(saying('lora_configs: []')).toEqual([refusal('is not set')]);
    expect(saying('lora_configs: [{ lora_rank: 4 }]')).toEqual([refusal('got rank 4')]);
    expect(saying('lora_configs: [{ target_modules: q_proj }]')).toEqual([refusal('got rank')]);
  });

  it('may name weights of its own', () => {
    expect(saying('quantization: none, model_path: ./tiny')).toEqual([]);
    expect(saying('quantization: int4, model_path: ./tiny')).toEqual([]);
  });

  it('rounds the weights of a checkpoint in floating point numbers, which no file holds', () => {
    expect(saying('quantization: int8', 'none')).toEqual([]);
    expect(saying('quantization: file', 'none')).toEqual([
      expect.stringMatching(/got "file".* floating point numbers/),
    ]);
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
