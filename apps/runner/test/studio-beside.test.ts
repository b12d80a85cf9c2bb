import type { RunEvent } from '@trinity-rft/inspect/studio/interface';
import { expect, it } from 'vitest';
import { startTrinity, type Trinity } from './support/trinity.js';
import { createWorkspace } from './support/workspace.js';

const addressIn = ({ child, output, ended }: Trinity, line: RegExp): Promise<string> =>
  new Promise((resolve, reject) => {
    void ended.then(() => reject(new Error(output())));
    child.stdout?.on('data', () => {
      const url = line.exec(output())?.[1];
      if (url !== undefined) resolve(url);
    });
  });

function accessOf(address: string) {
  const { origin, hash } = new URL(address);
  const key = new URLSearchParams(hash.slice(1)).get('key');
  return { origin, headers: { authorization: `Bearer ${key}` } };
}

async function* eventsIn({ body }: Response): AsyncGenerator<RunEvent> {
  let rest = '';
  for await (const text of body!.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts)
      if (line.startsWith('data: ')) yield JSON.parse(line.slice(6)) as RunEvent;
  }
}

it(
  'serves the studio beside a run, over the folder of its runs, until it ends',
  { timeout: 240_000 },
  async () => {
    const workspace = await createWorkspace();
    const trinity = startTrinity(workspace.root, [
      'run',
      workspace.config('run.yaml'),
      '--plugin-dir',
      'plugins',
      '--studio',
    ]);
    const address = await addressIn(trinity, /^Studio, until the run ends: (\S+)$/m);
    const { origin, headers } = accessOf(address);
    const answer = await fetch(new URL('/api/builder/templates', origin), { headers });
    expect(answer.status).toBe(200);
    // A page that is open sees the end of the run before the studio ends.
    const events = await fetch(new URL('/api/events', origin), { headers });
    let last: RunEvent | undefined;
    const states = new Map<string, string>();
    for await (const event of eventsIn(events)) {
      last = event;
      for (const { id, state } of event.runs) states.set(id, state);
      if (event.ended !== undefined) break;
    }
    expect(last?.ended).toMatch(/ studio \S+$/);
    expect([...states.values()]).toContain('finished');
    expect((await trinity.ended).exitCode).toBe(0);
    await expect(fetch(origin)).rejects.toThrow('fetch failed');
  },
);

// A process manager has a channel to the studio, too, and a studio beside a run may be ended alone.
it.for([{ args: [] }, { args: ['--beside'] }])(
  'does not tell its pages that a run has ended where it is ended alone: $args',
  { timeout: 240_000 },
  async ({ args }) => {
    const workspace = await createWorkspace();
    const command = ['studio', workspace.root, ...args];
    const trinity = startTrinity(workspace.root, command, { hasChannel: true });
    const address = await addressIn(trinity, /^Open (\S+)$/m);
    const { origin, headers } = accessOf(address);
    const events = await fetch(new URL('/api/events', origin), { headers });
    const endings: (string | undefined)[] = [];
    const follow = async (): Promise<void> => {
      for await (const { ended } of eventsIn(events)) {
        if (endings.push(ended) === 1) trinity.child.kill('SIGINT');
        if (ended !== undefined) return;
      }
    };
    // Without a last event, the connection breaks off.
    await follow().catch(() => undefined);
    expect(new Set(endings)).toEqual(new Set([undefined]));
    expect((await trinity.ended).exitCode).toBe(0);
  },
);
