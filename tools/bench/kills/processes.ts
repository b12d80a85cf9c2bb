/** The processes of one run, each started again when it was killed. */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { argsOf, roles, writeConfig, type Role, type RunPlace } from './workspace.ts';

export interface Processes {
  /** Those that run and are not stopped. */
  readonly running: () => readonly Role[];
  readonly kill: (role: Role) => void;
  /** SIGSTOP, and SIGCONT after that time. */
  readonly stop: (role: Role, ms: number) => void;
  /** Once all have ended of their own accord, with what they should not have ended with. */
  readonly ended: Promise<readonly string[]>;
}

const fromSources = [
  '--conditions=@trinity-rft/source',
  `--import=${new URL('../../register-source.mjs', import.meta.url).href}`,
];
const cli = fileURLToPath(new URL('../../../apps/runner/src/cli.ts', import.meta.url));

/** As a supervisor would. */
const maxFailures = 5;

export function startAll(place: RunPlace): Processes {
  const config = writeConfig(place);
  const children = new Map<Role, ChildProcess>();
  const stopped = new Set<Role>();
  const problems: string[] = [];
  const start = (role: Role): Promise<number | null> => {
    const log = openSync(path.join(place.root, `${place.name}-${role}.log`), 'a');
    const args = ['run', '--config', config, '--plugin-dir', 'plugins', ...argsOf(role)];
    const child = spawn(process.execPath, [...fromSources, cli, ...args], {
      cwd: place.root,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    children.set(role, child);
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
  };
  const keep = async (role: Role): Promise<void> => {
    for (let failures = 0; failures < maxFailures;) {
      const exitCode = await start(role);
      if (exitCode === 0) break;
      if (exitCode === null) continue;
      failures += 1;
      problems.push(`${role} ended with exit code ${exitCode}, see ${place.name}-${role}.log`);
    }
    children.delete(role);
  };
  const endAll = (): void => children.forEach((child) => child.kill('SIGKILL'));
  process.once('exit', endAll);
  return {
    running: () => roles.filter((role) => children.has(role) && !stopped.has(role)),
    kill: (role) => children.get(role)?.kill('SIGKILL'),
    stop: (role, ms) => {
      const child = children.get(role);
      child?.kill('SIGSTOP');
      stopped.add(role);
      setTimeout(() => {
        child?.kill('SIGCONT');
        stopped.delete(role);
      }, ms);
    },
    ended: Promise.all(roles.map(keep)).then(() => {
      process.off('exit', endAll);
      return problems;
    }),
  };
}
