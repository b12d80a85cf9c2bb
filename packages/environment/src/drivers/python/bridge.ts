/**
 * A child process that exchanges JSON messages with this process. Each message is a line. Only one
 * call is in progress at a time.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ConfigError, describeError, type TrinityError } from '@trinity-rft/core';
import { atExit, killGroup, readToEnd, tryJson } from '@trinity-rft/core/support';
import { z } from 'zod';
import type { Untimed } from '../../seam/types.js';
import { broken, limitsOf, shorten, within } from '../../waiting/within.js';

export interface BridgeOptions {
  readonly command: string;
  readonly args: readonly string[];
}

export interface Bridge {
  /** Number of calls that are in progress or waiting. */
  readonly load: number;
  /** Returns the error that ended the process, or undefined while the process is alive. */
  failure(): TrinityError | undefined;
  /**
   * Calls a method of the process and returns the result. Calls cannot be aborted, because other
   * episodes share the process. Waiting for earlier calls does not count towards the time limits of
   * the episode.
   * @throws ConfigError if the program or a module is missing; EnvironmentError for other failures.
   * A timeout, or a response that is malformed or out of order, also ends the process.
   */
  call(method: string, params: object, timeoutMs: number, untimed?: Untimed): Promise<unknown>;
  close(): void;
}

const answerSchema = z.object({
  id: z.number(),
  result: z.unknown().optional(),
  error: z
    .object({ type: z.string(), message: z.string(), mistake: z.boolean().default(false) })
    .optional(),
});
type Answer = z.infer<typeof answerSchema>;

interface Waiting extends PromiseWithResolvers<Answer> {
  readonly id: number;
}

/** Number of characters kept from the end of the process's standard error. */
const keptLength = 2000;

export function startBridge({ command, args }: BridgeOptions): Bridge {
  const name = [command, ...args].join(' ');
  const child = spawn(command, args, {
    stdio: 'pipe',
    // A separate process group, so that programs that environments start, such as Java, are killed
    // too.
    detached: process.platform !== 'win32',
  });
  // The process may be in the middle of a step, in which it does not notice the end of its input.
  const isOver = atExit(() => kill(child));
  const { signal } = new AbortController();
  let failure: TrinityError | undefined;
  let waiting: Waiting | undefined;
  let [nextId, load, lastWords] = [1, 0, ''];
  let turn: Promise<unknown> = Promise.resolve();

  const fail = (error: TrinityError): void => {
    if (failure !== undefined) return;
    failure = error;
    waiting?.reject(error);
    kill(child);
    isOver();
  };
  const receive = (line: string): void => {
    const answer = answerSchema.safeParse(tryJson(line)).data;
    if (answer === undefined) return fail(malformed(name, line));
    if (answer.id !== waiting?.id) return fail(outOfOrder(name, answer.id, waiting?.id));
    waiting.resolve(answer);
    waiting = undefined;
  };

  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    lastWords = (lastWords + text).slice(-keptLength);
  });
  createInterface({ input: child.stdout }).on('line', receive);
  // The event 'exit' reports a process that has ended.
  child.stdin.on('error', () => undefined);
  child.once('error', (cause) => fail(notStarted(name, cause)));
  child.once('exit', (code, killer) => {
    void readToEnd(child).then(() => fail(ended(name, code ?? killer, lastWords)));
  });

  async function send(method: string, params: object, ms: number): Promise<unknown> {
    if (failure !== undefined) throw failure;
    const mine: Waiting = { ...Promise.withResolvers<Answer>(), id: nextId++ };
    waiting = mine;
    child.stdin.write(`${JSON.stringify({ id: mine.id, method, params })}\n`);
    const late = () => silent(name, method, ms, lastWords);
    try {
      const { error, result } = await within({ ms, signal }, late, () => mine.promise);
      if (error === undefined) return result;
      throw raised(name, method, error, lastWords);
    } catch (error) {
      if (waiting === mine) fail(error as TrinityError);
      throw error;
    }
  }

  return {
    get load() {
      return load;
    },
    failure: () => failure,
    call: async (method, params, timeoutMs, untimed = (wait) => wait()) => {
      load++;
      const earlier = turn;
      const mine = untimed(() => earlier).then(() => send(method, params, timeoutMs));
      turn = mine.catch(() => undefined).finally(() => load--);
      return mine;
    },
    close: () => fail(ended(name, 'closed', lastWords)),
  };
}

function kill(child: ChildProcess): void {
  child.stdin?.end();
  killGroup(child, 'SIGKILL');
}

const said = (lastWords: string): string =>
  lastWords.trim() === '' ? '' : ` It wrote last: ${lastWords.trim()}`;

/**
 * Creates the error for a process that could not be started. If the program is missing, it is a
 * ConfigError, because retries would fail in the same way.
 */
function notStarted(name: string, cause: NodeJS.ErrnoException): TrinityError {
  const code = 'ENVIRONMENT_START_FAILED';
  const message = `\`${name}\` cannot be started: ${describeError(cause)}. Name a Python in environment_args.python.`;
  return cause.code === 'ENOENT' || cause.code === 'EACCES'
    ? new ConfigError(message, { code, cause })
    : broken(code, message, cause);
}

const ended = (name: string, code: number | string | null, lastWords: string) =>
  broken(
    'ENVIRONMENT_CLOSED',
    `\`${name}\` ended (${code}), and its episodes with it.${said(lastWords)}`,
  );

const silent = (name: string, method: string, ms: number, lastWords: string) =>
  broken(
    'ENVIRONMENT_DEADLINE',
    `\`${name}\` did not answer "${method}" within ${ms / 1000} s and was killed. Raise ${limitsOf(method === 'make' || method === 'reset' ? 'start' : 'step')} if that can be right.${said(lastWords)}`,
  );

const malformed = (name: string, line: string) =>
  broken(
    'ENVIRONMENT_ANSWER',
    `\`${name}\` wrote what is no answer and was killed: ${shorten(line)}`,
  );

const outOfOrder = (name: string, id: number, expected: number | undefined) =>
  broken(
    'ENVIRONMENT_ORDER',
    `\`${name}\` answered request ${id} while ${expected ?? 'none'} was open, and was killed: answers cannot be told apart.`,
  );

/** Code of an error that each process raises with these arguments, before it has any episodes. */
export const neverMade = 'ENVIRONMENT_NEVER_MADE';

function raised(
  name: string,
  method: string,
  { type, message, mistake }: NonNullable<Answer['error']>,
  lastWords: string,
): TrinityError {
  // A step may import what the policy names.
  const missing = /^(?:ModuleNotFound|Import)Error$/.test(type) && method !== 'step';
  const stop = /[.?!]$/.test(message) ? '' : '.';
  const what = `\`${name}\` raised at "${method}": ${type}: ${message}${stop}`;
  if (missing) return new ConfigError(`${what} ${installModule}`, { code: 'PYTHON_MODULE' });
  if (method === 'make' && mistake) {
    const advice = 'Correct kind, name or config in environment_args if the cause is there.';
    return broken(neverMade, `${what} ${advice}${said(lastWords)}`);
  }
  return broken('ENVIRONMENT_RAISED', `${what}${said(lastWords)}`);
}

/** Advice for a module that is missing. */
const installModule =
  'Install it with pip for that Python, or correct environment_args.python or environment_args.path.';
