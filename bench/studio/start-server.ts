/** Starts the server as `trinity studio` does, and measures its resources. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { serverFlags } from '../../apps/runner/src/shared/server-flags.ts';

export const fromSources = [
  '--conditions=@trinity-rft/source',
  `--import=${new URL('../../tools/register-source.mjs', import.meta.url).href}`,
];

export interface Server {
  readonly url: string;
  /** Peak memory in MiB. */
  peakMemory(): number;
  close(): Promise<void>;
}

export async function startServer(runs: string, page: string): Promise<Server> {
  const file = new URL('server.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [...serverFlags, ...fromSources, file, runs, page], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
  return {
    url,
    peakMemory: () => Number(/VmHWM:\s+(\d+)/.exec(proc(child, 'status'))?.[1] ?? 0) / 1024,
    close: async () => {
      child.kill();
      await once(child, 'exit');
    },
  };
}

const proc = ({ pid }: ChildProcess, name: string): string =>
  readFileSync(`/proc/${pid}/${name}`, 'utf8');
