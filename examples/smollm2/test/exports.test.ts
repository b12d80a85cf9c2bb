/** Compares SmolLM2 in every export format, in its runtime, with the embedded engine. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadModelFolder, saveModelFolder } from '@trinity-rft/engine-onnx';
import { exportModel, renderExport, type FormatName } from '@trinity-rft/export';
import { findModel as findPlace } from '@trinity-rft/local';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findModel } from './support/model.ts';

let scratch = '';
let missing = '';
beforeAll(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'trinity-smollm2-exports-'));
  const found = await findModel();
  if ('missing' in found) {
    missing = found.missing;
    return;
  }
  const { weights, ...files } = await loadModelFolder(found.file);
  await saveModelFolder(path.join(scratch, 'model'), files, weights);
}, 2_000_000);
afterAll(() => rm(scratch, { recursive: true, force: true }));

beforeEach(({ skip }) => skip(missing !== '', missing));

/** Prints figures, which are of interest even if the test passes. */
const report = (text: string): void => void process.stdout.write(text);

describe('exports of SmolLM2-135M', { tags: ['external'], timeout: 900_000 }, () => {
  it.each<[FormatName, string]>([
    ['gguf', 'F32'],
    ['gguf', 'Q8_0'],
    ['gguf', 'Q4_K_M'],
    ['transformersjs', 'fp32'],
    ['transformersjs', 'fp16'],
    ['transformersjs', 'q8'],
    ['hf', 'bfloat16'],
  ])('%s in %s is within its limits', async (format, quantize) => {
    const directory = path.join(scratch, `${format}-${quantize}`);
    const place = await findPlace(path.join(scratch, 'model'));
    const exported = await exportModel({
      model: place,
      format,
      quantize,
      directory,
      check: { answerTokens: 12 },
    });
    report(renderExport(exported, `${format}-${quantize}`));
    expect(exported.check?.faults).toEqual([]);
    expect(exported.check?.leftOut).toBe(0);
    await rm(directory, { recursive: true });
  });
});
