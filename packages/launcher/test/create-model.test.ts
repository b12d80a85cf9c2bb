import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildCharTokenizer, loadTokenizer } from '@trinity-rft/chat';
import { loadModelFolder } from '@trinity-rft/engine-onnx';
import { afterAll, describe, expect, it } from 'vitest';
import { createModel } from '../src/create-model.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-create-model-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const tokenizer = buildCharTokenizer({ characters: '0123456789', eosToken: '<|end|>' });
const create = async (name: string, seed: number): Promise<string> => {
  const directory = path.join(root, name);
  await createModel({
    directory,
    tokenizer,
    config: { hiddenSize: 32, layers: 1, heads: 2 },
    seed,
    initializerRange: 0.1,
  });
  return directory;
};

describe('createModel', () => {
  it('makes a folder whose model has a row for every token and stops at the end token', async () => {
    const directory = await create('one', 1);
    const { vocabularySize, eosTokenIds, encode } = await loadTokenizer(directory);
    const { config, weights } = await loadModelFolder(directory);
    expect(config).toMatchObject({ vocabSize: vocabularySize, eosTokenIds, hiddenSize: 32 });
    expect([...encode('42')].every((id) => id < config.vocabSize)).toBe(true);
    expect(weights.every(Number.isFinite)).toBe(true);
  });

  it('makes equal bytes from equal seeds only', async () => {
    const [a, b, c] = await Promise.all([create('a', 1), create('b', 1), create('c', 2)]);
    const bytes = (directory: string): Buffer =>
      readFileSync(path.join(directory, 'model.safetensors'));
    expect(bytes(a).equals(bytes(b))).toBe(true);
    expect(bytes(a).equals(bytes(c))).toBe(false);
  });
});
