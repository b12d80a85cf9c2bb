import { expect, it } from 'vitest';
import { chooseModelFiles, completeModel } from './model-files.js';

const readIndex = (): string => '{}';

it('a GGUF model is chosen beside the encoder of its images', () => {
  const paths = ['README.md', 'gemma-Q4_K_M.gguf', 'mmproj-F16.gguf'];
  expect(chooseModelFiles(paths, 'owner/name', { file: undefined })).toEqual(['gemma-Q4_K_M.gguf']);
  expect(completeModel(paths, readIndex)).toBe('gemma-Q4_K_M.gguf');
});

it('an encoder of images is neither suggested nor counted as a model', () => {
  const choose = (paths: readonly string[]) => () =>
    chooseModelFiles(paths, 'owner/name', { file: undefined });
  expect(choose(['sub/mmproj-BF16.gguf', 'z-Q4_0.gguf', 'z-Q8_0.gguf'])).toThrow(
    'owner/name holds 2 GGUF models: z-Q4_0.gguf, z-Q8_0.gguf. Name one, as in owner/name/z-Q4_0.gguf.',
  );
  expect(choose(['mmproj-BF16.gguf'])).toThrow('nor the GGUF file of a model');
});
