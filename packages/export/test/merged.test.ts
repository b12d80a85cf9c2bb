/** Exports adapters that were trained over quantised weights and are merged with them. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Quantization, TokenRow } from '@trinity-rft/core/engine';
import { createOnnxEngine } from '@trinity-rft/engine-onnx';
import { findModel } from '@trinity-rft/local';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportModel, renderExport, type ExportOptions, type ExportReport } from '../src/index.js';
import { roundedNotes } from '../src/targets/rounded.js';

const practice = fileURLToPath(
  new URL('../../../apps/create/templates/practice/model', import.meta.url),
);
let scratch = '';
const folder = (name: string): string => path.join(scratch, name);
const file = (): string => path.join(folder('base'), 'model-Q8_0.gguf');

/** Trains a checkpoint for a few steps, enough that the adapter makes a difference. */
async function train(name: string, modelPath: string, quantization: Quantization): Promise<void> {
  const lora = { rank: 2, alpha: 8, seed: 1 };
  const engine = await createOnnxEngine({ modelPath, lora, quantization, threads: 1 });
  const { trainer } = engine;
  const tokens = Int32Array.from({ length: 24 }, (_, i) => 3 + ((5 * i) % 12));
  for (let step = 0; step < 3; step++) {
    const pass = await trainer.forward({ rows: [{ tokens, promptLength: 4, temperature: 1 }] });
    await trainer.backward(pass, { logprobs: pass.logprobs.map(() => 1) });
    await trainer.step({ learningRate: 0.02 });
  }
  await trainer.save(folder(name), { optimizer: false });
  await engine.close();
}

beforeAll(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'trinity-merged-'));
  await exported('base', { format: 'gguf', quantize: 'Q8_0', name: 'model' }, practice);
  await train('of-file', file(), 'file');
  await train('of-int4', practice, 'int4');
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

async function exported(
  name: string,
  options: Pick<ExportOptions, 'format'> & Partial<ExportOptions>,
  from: string,
): Promise<ExportReport> {
  return exportModel({ model: await findModel(from), directory: folder(name), ...options });
}

describe('an adapter beside quantised weights is merged, with a measured loss', () => {
  it.each([
    ['of-file', 'F32', 0.1],
    ['of-file', 'Q8_0', 0.1],
    ['of-int4', 'Q8_0', 0.2],
    ['of-int4', 'Q4_K_M', 2],
  ] as const)('%s in %s', async (from, quantize, limit) => {
    const name = `${from}-${quantize}`;
    const report = await exported(
      name,
      { format: 'gguf', quantize, check: { answerTokens: 8 } },
      folder(from),
    );
    const { texts, positions, meanDifference, largestDifference } = report.mergeLoss!;
    expect(texts).toBe('sampled');
    expect(positions).toBeGreaterThan(100);
    expect(meanDifference).toBeLessThan(limit);
    expect(meanDifference).toBeGreaterThan(0);
    expect(largestDifference).toBeGreaterThan(meanDifference);
    expect(report.check?.meanDifference).toBeLessThan(limit);
    expect(report.check?.faults).toEqual([]);
    expect(report.notes.join()).toContain('--adapter-only');
    expect(renderExport(report, 'out')).toContain('nats per token on average');
    const stored = await readFile(path.join(folder(name), 'export.json'), 'utf8');
    expect(JSON.parse(stored)).toMatchObject({ mergeLoss: report.mergeLoss });
  });

  it('in 8 bits unless another format is named, on sequences of the run', async () => {
    const tokens = Int32Array.from({ length: 20 }, (_, i) => 3 + (i % 9));
    const rows: readonly TokenRow[] = [
      { tokens, promptLength: 5, temperature: 1 },
      { tokens: tokens.subarray(0, 5), promptLength: 5, temperature: 1 },
    ];
    const recorded = () => Promise.resolve(rows);
    const report = await exported('recorded', { format: 'ollama', recorded }, folder('of-file'));
    expect(report.numbers).toBe('Q8_0');
    expect(report.mergeLoss).toMatchObject({ texts: 'recorded', positions: 15 });
  });

  it('and alone loses nothing', async () => {
    const options = { format: 'gguf', adapterOnly: true } as const;
    const report = await exported('alone', options, folder('of-file'));
    expect(report.mergeLoss).toBeUndefined();
  });

  it('only in a GGUF file', async () => {
    for (const format of ['hf', 'transformersjs'] as const)
      await expect(exported('none', { format }, folder('of-file'))).rejects.toMatchObject({
        code: 'ADAPTER_BESIDE_QUANTIZED',
      });
  });
});

it('formats of the file that cannot be written are named, with those that can', () => {
  const formats = fileURLToPath(
    new URL('../../chat/test/gguf/fixtures/formats.gguf', import.meta.url),
  );
  expect(roundedNotes({ quantization: 'file', model: file() })).toHaveLength(1);
  expect(roundedNotes({ quantization: 'file', model: formats })[1]).toMatch(
    /^formats\.gguf has matrices in Q4_0, Q4_1, Q5_0, Q5_1, Q5_K, which cannot be written\. .*Q8_0, Q4_K_M, Q6_K/,
  );
});
