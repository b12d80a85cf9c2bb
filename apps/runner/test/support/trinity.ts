/** The `trinity` command as a child process, run from the sources. */
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterFile } from '@trinity-rft/test-support';

export interface Trinity {
  readonly child: ChildProcess;
  /** Everything printed so far, errors included. */
  readonly output: () => string;
  readonly ended: Promise<Ended>;
}

export interface Ended {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments of Node, before the command. */
  readonly nodeArgs?: readonly string[];
  /** Script to run instead of the command line. */
  readonly script?: string;
  /** Standard input. @default none */
  readonly input?: string;
  /** Opens a channel to the command, as process managers do. @default false */
  readonly hasChannel?: boolean;
}

/** Exact point in a run; see `kill-at.mjs`. */
export interface KillPoint {
  readonly call: 'rename' | 'writeFile' | 'append' | 'writev' | 'commit';
  /** Part of the path in the call. */
  readonly match: string;
  /** Number of the matching call, from 1. */
  readonly nth: number;
  readonly when: 'before' | 'after';
  /** Copies a folder at this point instead of killing the process, to get the files that a kill would leave. */
  readonly copy?: { readonly from: string; readonly to: string };
}

const root = new URL('../../../../', import.meta.url);
const cli = fileURLToPath(new URL('apps/runner/src/cli.ts', root));
const killer = new URL('kill-at.mjs', import.meta.url).href;
/** Node arguments for running from sources; worker threads of the command get them too. */
const sources = [
  '--conditions=@trinity-rft/source',
  `--import=${new URL('tools/register-source.mjs', root).href}`,
];

/** Starts `trinity` with these arguments in `cwd`. */
export function startTrinity(
  cwd: string,
  args: readonly string[],
  { env = {}, nodeArgs = [], script = cli, input, hasChannel = false }: StartOptions = {},
): Trinity {
  const child = spawn(process.execPath, [...sources, ...nodeArgs, script, ...args], {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdio: ['pipe', 'pipe', 'pipe', ...(hasChannel ? (['ipc'] as const) : [])],
  });
  child.stdin!.end(input);
  // A failed test may leave a process running.
  afterFile(() => child.kill('SIGKILL'));
  const texts = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream]!.setEncoding('utf8').on('data', (text: string) => (texts[stream] += text));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode, signal) => resolve({ exitCode, signal, ...texts }));
  });
  return { child, output: () => texts.stdout + texts.stderr, ended };
}

export function trinity(cwd: string, ...args: readonly string[]): Promise<Ended> {
  return startTrinity(cwd, args).ended;
}

/** Starts a command that is killed at `point`; with several points, at the last of them. */
export function killedTrinity(
  cwd: string,
  args: readonly string[],
  point: KillPoint | readonly KillPoint[],
  env: StartOptions['env'] = {},
): Promise<Ended> {
  return startTrinity(cwd, args, {
    env: { ...env, TRINITY_TEST_KILL: JSON.stringify(point) },
    nodeArgs: [`--import=${killer}`],
  }).ended;
}

/** `trinity run` with the plugins of the workspace. */
export const runArgs = (config: string): readonly string[] => [
  'run',
  '--config',
  config,
  '--plugin-dir',
  'plugins',
];

/** Environment without the variables that the test runner sets. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(VITEST|NODE_OPTIONS$|NODE_V8_COVERAGE$|TEST$)/.test(name),
    ),
  );
  return { ...inherited, TRINITY_COMMAND: 'trinity' };
}
