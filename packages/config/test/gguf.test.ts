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
