/** Compares random models of every family, which transformers creates during the test, with the embedded engine. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findPython } from '@trinity-rft/test-support';
import { expect, it } from 'vitest';
import { modelFamilies } from '../src/model/config.js';
import { differencesFrom, type Differences } from './support/against-transformers.js';

const script = fileURLToPath(
  new URL('../../../tools/fixtures/transformers_models.py', import.meta.url),
);
const packages = ['torch', 'transformers', 'gguf', 'accelerate', 'sentencepiece', 'protobuf'];
const tagged = { tags: ['external'], timeout: 20 * 60_000 };

/**
 * The decay of the gated delta rule is a product over positions: with these seeds our gradients differ
 * from those in float64 by 1.4e-4, and transformers' own in float32 by 4e-5.
 */
const gradientBounds: Readonly<Record<string, number>> = { qwen3_5_text: 5e-4 };

it('scores and gradients of all families equal those of transformers', tagged, async ({ skip }) => {
  const python = await findPython(packages);
  if ('missing' in python) return skip(python.missing);
  const folder = await mkdtemp(path.join(tmpdir(), 'trinity-transformers-'));
  try {
    await promisify(execFile)(python.program, [script, folder, '--seed', '7'], {
      timeout: 600_000,
    });
    const names = await readdir(folder);
    expect(names).toEqual(expect.arrayContaining([...modelFamilies]));
    const found = new Map<string, Differences>();
    for (const name of names) found.set(name, await differencesFrom(path.join(folder, name)));
    const large = [...found].filter(
      ([name, { logprobs, gradient }]) =>
        !(logprobs < 1e-4 && gradient < (gradientBounds[name] ?? 1e-4)),
    );
    expect(large).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
