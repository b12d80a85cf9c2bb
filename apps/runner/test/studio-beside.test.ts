import type { RunEvent } from '@trinity-rft/inspect/studio/interface';
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
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(new URL('/api/builder/templates', origin), { headers });
    expect(answer.status).toBe(200);
    // A page that is open sees the end of the run before the studio ends.
    const events = await fetch(new URL('/api/events', origin), { headers });
    let last: RunEvent | undefined;
    const states = new Map<string, string>();
    let rest = '';
    for await (const text of events.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + text).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts) {
        if (!line.startsWith('data: ')) continue;
        last = JSON.parse(line.slice(6)) as RunEvent;
        for (const { id, state } of last.runs) states.set(id, state);
      }
      if (last?.ended !== undefined) break;
    }
    expect(last?.ended).toMatch(/ studio \S+$/);
    expect([...states.values()]).toContain('finished');
    expect((await ended).exitCode).toBe(0);
    await expect(fetch(origin)).rejects.toThrow('fetch failed');
  },
);
