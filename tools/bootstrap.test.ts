import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const run = promisify(execFile);

describe('tools/bootstrap.mjs', () => {
  it('makes npx trinity the command of the clone, in its folders as well', async () => {
    await run(process.execPath, ['tools/bootstrap.mjs', 'link'], { cwd: root });
    for (const cwd of [root, join(root, 'examples/quickstart')]) {
      const { stdout } = await run('npx', ['--no-install', 'trinity', '--version'], { cwd });
      expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    }
  });
});
