import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const example = fileURLToPath(new URL('..', import.meta.url));
const hook = fileURLToPath(new URL('../../../tools/register-source.mjs', import.meta.url));

describe('the quickstart', () => {
  it('raises the mean reward from at most 0.5 to at least 0.9', { tags: ['slow'] }, async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'quickstart-'));
    try {
      await cp(path.join(example, 'quickstart.yaml'), path.join(folder, 'quickstart.yaml'));
      const node = ['--conditions=@trinity-rft/source', `--import=${hook}`, path.join(example, 'src', 'index.ts')];
      const { stdout, stderr, status } = spawnSync(process.execPath, node, { cwd: folder, encoding: 'utf8', timeout: 220_000 });
      expect(stderr + stdout.slice(-2000)).toContain('mean reward');
      const [, first, last] = /mean reward ([\d.]+) .* -> ([\d.]+)/.exec(stdout)!;
      expect(status).toBe(0);
      expect(Number(first)).toBeLessThanOrEqual(0.5);
      expect(Number(last)).toBeGreaterThanOrEqual(0.9);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
