/** GGUF files as models; the fixtures come from tools/fixtures/gguf_files.py. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ggufFamilies } from '@trinity-rft/chat/gguf';
import { afterAll, describe, expect, it } from 'vitest';
import { createOnnxEngine } from '../src/engine.js';
import { modelFamilies } from '../src/model/config.js';
import { parameterSpecs } from '../src/model/parameters.js';
import { loadModelFolder } from '../src/storage/model-folder.js';
import { distance, largest } from './support/fixtures.js';

const fixture = (name: string): string => new URL(`fixtures/${name}`, import.meta.url).pathname;
const scratch = mkdtempSync(path.join(tmpdir(), 'trinity-gguf-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe('a GGUF file', () => {
  it('is of a family that the engine knows', () => {
    expect(modelFamilies).toEqual(expect.arrayContaining([...ggufFamilies]));
  });

  // These folders have settings that no file has, such as another scale of attention or a layer
  // without experts; llama-cpp.test.ts reads files of their families.
  const others = new Set(['gemma2', 'gemma3_text', 'smollm3', 'qwen3_moe']);
  it.each(ggufFamilies.filter((family) => !others.has(family)))(
    'of %s is the model of the folder that it was made from',
    async (family) => {
      const folder = await loadModelFolder(fixture(family));
      const file = await loadModelFolder(fixture(`${family}/model.gguf`));
      expect(file.config).toEqual(folder.config);
      const errors = parameterSpecs(folder.config).map(({ name, offset, size }) => {
        const [wanted, found] = [folder, file].map(({ weights }) =>
          weights.subarray(offset, offset + size),
        );
        return { name, error: distance(found!, wanted!) / largest(wanted!) };
      });
      // Q8_0 rounds to a 127th of the largest of 32 numbers.
      expect(errors.filter(({ error }) => !(error < 0.5 / 127 + 1e-3))).toEqual([]);
    },
  );

  it('is sampled from and trained, and its checkpoint is a folder', async () => {
    const engine = await createOnnxEngine({
      modelPath: fixture('llama/model.gguf'),
      lora: { rank: 2, alpha: 4, seed: 1 },
      threads: 1,
    });
    await engine.trainer.publish(0);
    await engine.sampler.adopt({ kind: 'published' }, 0);
    const prompt = Int32Array.of(1, 2, 3);
    const [sample] = await engine.sampler.sample(prompt, { n: 1, maxTokens: 4, seed: 1 });
    expect(sample?.tokens.length).toBeGreaterThan(0);
    await engine.trainer.save(scratch, { optimizer: true });
    await engine.close();
    const saved = await loadModelFolder(scratch);
    const read = await loadModelFolder(fixture('llama/model.gguf'));
    expect(saved.config).toEqual(read.config);
    expect(distance(saved.weights, read.weights)).toBe(0);
  });
});
