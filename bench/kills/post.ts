/** A role in a run and its current process, which is restarted after it was killed. */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { argsOf, writeConfig, type Role, type RunPlace } from './workspace.ts';

export interface Post {
  readonly role: Role;
  /** Number of the trainer whose folder the process uses, from 1. */
  readonly trainer: number;
  /** Output of all processes of the role. */
  readonly log: string;
  readonly child: ChildProcess;
  readonly exit: Promise<number | null>;
  isStopped: boolean;
  /**
   * True if another process has taken over the role: the process then exits by itself and is not
   * restarted.
   */
  isReplaced: boolean;
}

const fromSources = [
  '--conditions=@trinity-rft/source',
  `--import=${new URL('../../tools/register-source.mjs', import.meta.url).href}`,
];
const cli = fileURLToPath(new URL('../../apps/runner/src/cli.ts', import.meta.url));

const children = new Set<ChildProcess>();
process.once('exit', () => children.forEach((child) => child.kill('SIGKILL')));

export function startPost(
  place: RunPlace,
  { role, trainer }: Pick<Post, 'role' | 'trainer'>,
): Post {
  const config = writeConfig(place, trainer);
  const log = path.join(place.root, `${place.name}-${role}-${trainer}.log`);
  const output = openSync(log, 'a');
  const args = [...fromSources, cli, 'run', '--config', config, ...argsOf(role)];
  const child = spawn(process.execPath, args, {
    cwd: place.root,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  children.add(child);
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => {
      children.delete(child);
      resolve(exitCode);
    });
  });
  return { role, trainer, log, child, exit, isStopped: false, isReplaced: false };
}

/** Sends SIGSTOP, and SIGCONT after `ms`. */
export function stopPost(post: Post, ms: number): void {
  post.child.kill('SIGSTOP');
  post.isStopped = true;
  setTimeout(() => {
    post.child.kill('SIGCONT');
    post.isStopped = false;
  }, ms);
}

export const printedBy = ({ log }: Post): string => readFileSync(log, 'utf8');
