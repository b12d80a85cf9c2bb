/** The `trinity` command as a child process, run from the sources. */
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

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

const root = new URL('../../../../', import.meta.url);
const cli = fileURLToPath(new URL('apps/runner/src/cli.ts', root));
/** Also the workers that the command starts get these. */
const nodeArgs = ['--conditions=@trinity-rft/source', `--import=${new URL('tools/register-source.mjs', root).href}`];

/** Starts `trinity` with these arguments in `cwd`. */
export function startTrinity(cwd: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Trinity {
  const child = spawn(process.execPath, [...nodeArgs, cli, ...args], { cwd, env: { ...cleanEnvironment(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) child[stream].setEncoding('utf8').on('data', (text: string) => (texts[stream] += text));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode, signal) => resolve({ exitCode, signal, ...texts }));
  });
  return { child, output: () => texts.stdout + texts.stderr, ended };
}

export function trinity(cwd: string, ...args: readonly string[]): Promise<Ended> {
  return startTrinity(cwd, args).ended;
}

/** Without what the test runner sets for processes of its own. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_OPTIONS$|NODE_V8_COVERAGE$|TEST$)/.test(name)));
}
