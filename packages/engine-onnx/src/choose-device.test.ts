/** Checks of a stand-in for a GPU, in processes of their own. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import type { DeviceChoice, DeviceQuestion } from '@trinity-rft/core/engine';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { chooseDevice, type CheckSettings } from './choose-device.js';
import { createModelFolder } from './storage/new-model.js';

const root = await mkdtemp(path.join(tmpdir(), 'choose-device-'));
const cache = path.join(root, 'cache');
const modelPath = path.join(root, 'model');
beforeAll(() =>
  createModelFolder({
    directory: modelPath,
    seed: 1,
    config: { vocabSize: 32, hiddenSize: 16, layers: 1, heads: 2, maxPositions: 16 },
  }),
);
afterAll(() => rm(root, { recursive: true, force: true }));

interface Chosen extends DeviceChoice {
  readonly lines: readonly string[];
}

async function choose(
  query: string,
  question: Partial<DeviceQuestion> = {},
  settings: Partial<CheckSettings> = {},
): Promise<Chosen> {
  const lines: string[] = [];
  // A slow machine adds lines that say how long it waits.
  const report = (line: string): void => void (line.startsWith('Wait') || lines.push(line));
  const choice = await chooseDevice(
    { modelPath, threads: 1, measure: true, report, ...question },
    {
      cache,
      size: { answers: 2, promptTokens: 4, answerTokens: 4 },
      module: () => new URL(`../test/support/gpu-stand-in.ts?${query}`, import.meta.url).href,
      ...settings,
    },
  );
  return { ...choice, lines };
}

const storedFiles = async (): Promise<readonly string[]> =>
  (await readdir(cache)).map((name) => path.join(cache, name));

describe('the choice of a device', () => {
  it('is measured once, and again when the driver changes or the file is damaged', async () => {
    expect(await choose('', { measure: false })).toMatchObject({ device: undefined, lines: [] });
    const { device, why, lines } = await choose('');
    expect({ device, lines }).toEqual({
      device: expect.any(String),
      lines: [
        'Comparing the numbers of Stand-in, driver 1 with those of the CPU.',
        'Measuring a step of qwen3 with 4,672 weights on the CPU: 2 answers of 4 tokens to a prompt of 4.',
        'Measuring the same step on the GPU.',
      ],
    });
    expect(why).toMatch(
      /^A step of qwen3 with 4,672 weights takes [\d.]+ ms on the CPU; on Stand-/,
    );

    const [file = '', ...others] = await storedFiles();
    expect(others).toEqual([]);
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace(/"gpuMs": .*,/, '"gpuMs": 0.001,'));
    expect(await choose('')).toMatchObject({ device: 'webgpu', lines: [] });

    expect((await choose('driver=2', { measure: false })).device).toBeUndefined();
    const lora = { rank: 2, alpha: 2, targetModules: 'all-linear' } as const;
    expect((await choose('', { measure: false, lora })).device).toBeUndefined();
    expect((await choose('', { lora })).why).toContain('on Stand-in, driver 1 it takes');

    await writeFile(file, text.slice(0, 100));
    const repeated = await choose('');
    expect(repeated.lines[0]).toBe(
      `${file} is damaged and counts as missing; the next check of the GPU replaces it.`,
    );
    expect(repeated.lines).toHaveLength(4);
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ v: 1, report: {} });
  });

  it('is the CPU for a GPU with wrong numbers, also where results cannot be stored', async () => {
    const file = path.join(root, 'file');
    await writeFile(file, '');
    const { device, why, lines } = await choose('fault=wrong&driver=3', {}, { cache: file });
    expect(device).toBe('cpu');
    expect(why).toMatch(
      /^On Stand-in, driver 3 a (gradient|weight) differs from the CPU's by 0\.[\d]+; at/,
    );
    expect(lines).toEqual([
      expect.stringContaining('cannot be read: ENOTDIR'),
      'Comparing the numbers of Stand-in, driver 3 with those of the CPU.',
      expect.stringMatching(/cannot be written, .* Set XDG_CACHE_HOME/),
    ]);
  });

  it('is measured by a program from standard input, too', async () => {
    const flags = process.execArgv.length;
    process.execArgv.push('--input-type=module');
    try {
      expect((await choose('driver=7')).why).toContain('on Stand-in, driver 7 it takes');
    } finally {
      process.execArgv.length = flags;
    }
  });

  it.each([
    ['fault=none', 'There is no GPU.'],
    ['fault=crash', 'The process that checks the GPU ended by itself (SIGKILL).'],
    ['fault=hang', 'The process that checks the GPU was stopped after 1.5 s.'],
  ])('is the CPU with the reason: %s', async (query, why) => {
    const chosen = await choose(query, {}, query === 'fault=hang' ? { findMs: 1500 } : {});
    expect(chosen).toEqual({ device: 'cpu', why: expect.stringContaining(why), lines: [] });
  });

  it.each([
    ['fault=crash-late&driver=4', 'ended by itself (SIGKILL)'],
    ['fault=hang-late&driver=5', 'was stopped after 8 s'],
  ])('stays the CPU after a check that ended early: %s', async (query, why) => {
    const settings = { deadlineMs: query.includes('hang') ? 8000 : 600_000 };
    const first = await choose(query, {}, settings);
    expect(first).toMatchObject({ device: 'cpu', why: expect.stringContaining(why) });
    expect(first.lines).toHaveLength(1);
    const again = { device: 'cpu', why: expect.stringContaining(why), lines: [] };
    expect(await choose(query, { measure: false }, settings)).toEqual(again);
    const { why: kept } = await choose(query, {}, settings);
    expect(kept).toContain('`trinity doctor gpu FILE` checks again.');
  });

  it('is measured at the next start if the run that asks ends during the check', async () => {
    const query = 'fault=hang-late&driver=6';
    const signal = AbortSignal.timeout(3000);
    await expect(choose(query, { signal })).rejects.toMatchObject({ name: 'TimeoutError' });
    expect((await choose(query, { measure: false })).device).toBeUndefined();
  });

  it('is the CPU for quantised weights and without the package', async () => {
    const lora = { rank: 2, alpha: 2, targetModules: 'all-linear' } as const;
    expect(await choose('', { quantization: 'int8', lora })).toEqual({
      device: 'cpu',
      why: expect.stringContaining('Quantised weights run on the processor only'),
      lines: [],
    });
    const module = (): string => {
      throw new Error('not installed');
    };
    expect(await choose('', {}, { module })).toMatchObject({ device: 'cpu', why: 'not installed' });
  });

  it('ends with the run that asks', async () => {
    const signal = AbortSignal.timeout(500);
    await expect(choose('fault=hang', { signal })).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});
