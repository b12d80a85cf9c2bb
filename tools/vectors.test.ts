import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { casesOf } from './vectors/index.ts';
import type { VectorFile } from './vectors/suite.ts';

const root = join(import.meta.dirname, '..');
const path = join(import.meta.dirname, 'fixtures/trinity-vectors.json');
const file = JSON.parse(readFileSync(path, 'utf8')) as VectorFile & {
  readonly policy_loss: readonly { readonly expect: { readonly loss: number } }[];
};

describe('golden vectors of the original', () => {
  it.each(casesOf(file).filter(({ cases }) => cases.length > 0))('hold: $key', async ({ cases }) => {
    const failed: string[] = [];
    for (const { id, run } of cases)
      await Promise.resolve()
        .then(run)
        .catch((error: unknown) => failed.push(`${id}: ${(error as Error).message}`));
    expect(failed).toEqual([]);
  });

  it('are run for every key but those that say why not', () => {
    expect(casesOf(file).flatMap(({ key, skipped }) => (skipped ? [key] : []))).toEqual([
      'about',
      'inputs',
      'action_mask_counts',
      'prompt_truncation_run',
      'checkpoint_layout',
      'newer_upstream.collate_routed_experts',
    ]);
  });
});

describe('pnpm vectors', () => {
  const vectors = (...args: string[]): { readonly status: number | null; readonly lines: readonly string[]; readonly stderr: string } => {
    const command = ['--conditions=@trinity-rft/source', '--import', './tools/register-source.mjs', 'tools/vectors.ts', ...args];
    const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: root, encoding: 'utf8' });
    return { status, lines: stdout.trim().split('\n'), stderr };
  };

  it('prints passed or failed for every id, and fails when one does', () => {
    const directory = mkdtempSync(join(tmpdir(), 'vectors-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const [first, second] = file.policy_loss;
    const changed = { ...first, expect: { ...first!.expect, loss: first!.expect.loss + 1 } };
    const other = join(directory, 'other.json');
    writeFileSync(other, JSON.stringify({ inputs: file.inputs, policy_loss: [changed, second] }));
    const { status, lines } = vectors(other);
    expect(lines).toEqual([
      'not run  inputs: it is read by the others',
      expect.stringMatching(/^failed {3}test\/ppo: loss is 0\.26889\d+; expected 1\.26889\d+$/),
      expect.stringMatching(/^passed {3}test\/gspo$/),
      '1 passed, 1 failed, 1 keys not run',
    ]);
    expect(status).toBe(1);
  });

  it('says how it is used', () => {
    expect(vectors()).toMatchObject({ status: 2, stderr: expect.stringContaining('pnpm vectors FILE [KEY]') as string });
  });
});
