import { expect, it } from 'vitest';
import { startTrinity } from './support/trinity.js';
import { createWorkspace } from './support/workspace.js';

it(
  'serves the studio beside a run, over the folder of its runs, until it ends',
  { timeout: 240_000 },
  async () => {
    const workspace = await createWorkspace();
    const { child, output, ended } = startTrinity(workspace.root, [
      'run',
      workspace.config('run.yaml'),
      '--plugin-dir',
      'plugins',
      '--studio',
    ]);
    const address = await new Promise<string>((resolve, reject) => {
      void ended.then(() => reject(new Error(output())));
      child.stdout?.on('data', () => {
        const url = /^Studio, until the run ends: (\S+)$/m.exec(output())?.[1];
        if (url !== undefined) resolve(url);
      });
    });
    const { origin, hash } = new URL(address);
    const key = new URLSearchParams(hash.slice(1)).get('key');
    const answer = await fetch(new URL('/api/builder/templates', origin), {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(answer.status).toBe(200);
    expect((await ended).exitCode).toBe(0);
    await expect(fetch(origin)).rejects.toThrow('fetch failed');
  },
);
