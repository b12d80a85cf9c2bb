/** Runs the `trinity` command. */
import { spawn, type ChildProcess } from 'node:child_process';
import { ConfigError } from '@trinity-rft/core';
import { readToEnd, tryJson } from '@trinity-rft/core/support';

export interface TrinityCommand {
  /** Program and first arguments, such as `node`, `cli.js`. */
  readonly command: readonly string[];
  /** Environment of the processes. {@link environmentOf} removes the key of the studio. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Name of the variable with the studio's key. Processes that the studio starts must not receive
 * this variable.
 */
const ownVariable = 'TRINITY_STUDIO_KEY';

export const environmentOf = (env: TrinityCommand['env']): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name !== ownVariable));

export interface AskOptions {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly input: string;
  readonly signal: AbortSignal | undefined;
  /** Subject of the error message for a timeout, as a noun phrase. */
  readonly what: string;
  readonly deadlineMs: number;
}

const largestOutput = 1 << 24;

/**
 * Runs the command and returns the JSON object in the last line of its output. Plugins may write
 * earlier lines.
 * @throws ConfigError if the command takes too long; Error with the end of its other output if it
 * writes no JSON
 */
export async function askTrinity(
  { command: [program = '', ...first], env }: TrinityCommand,
  { args, cwd, input, signal, what, deadlineMs }: AskOptions,
): Promise<unknown> {
  const deadline = AbortSignal.timeout(deadlineMs);
  const child = spawn(program, [...first, ...args], {
    cwd,
    env: environmentOf(env),
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: AbortSignal.any(signal ? [signal, deadline] : [deadline]),
    killSignal: 'SIGKILL',
  });
  try {
    return await outputOf(child, input);
  } catch (cause) {
    if (!deadline.aborted) throw cause;
    throw new ConfigError(
      `${what} took more than ${deadlineMs / 1000} s. Does a plugin of the configuration wait for something?`,
      { code: 'CHECK_TIMEOUT', cause },
    );
  }
}

/** Number of characters of the other output in an error. */
const shownCharacters = 2000;

function outputOf(child: ChildProcess, input: string): Promise<unknown> {
  const parts: Buffer[] = [];
  const errors: Buffer[] = [];
  let size = 0;
  const keep = (list: Buffer[]) => (part: Buffer) => {
    size += part.length;
    if (size <= largestOutput) list.push(part);
    else child.kill('SIGKILL');
  };
  child.stdout?.on('data', keep(parts));
  child.stderr?.on('data', keep(errors));
  // Ignores write errors, because the process may end before it has read all input.
  child.stdin?.on('error', () => undefined).end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    const end = (): void => {
      const lines = Buffer.concat(parts).toString().trimEnd().split('\n');
      const answer: unknown = tryJson(lines.at(-1));
      if (typeof answer === 'object' && answer !== null) return resolve(answer);
      const said = Buffer.concat(errors.length === 0 ? parts : errors).toString();
      reject(new Error(`trinity ended without an answer. ${said.trim().slice(-shownCharacters)}`));
    };
    // Programs that a plugin has started may keep the pipes open.
    child.once('exit', () => void readToEnd(child).then(end));
  });
}
