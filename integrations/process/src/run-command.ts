/**
 * Runs a program as an agent. The program finds the URL and API key of the rollout's model in its
 * environment variables.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { describeError, TrinityError, WorkflowError, CancelledError } from '@trinity-rft/core';
import { atExit, killGroup, readToEnd, redactText } from '@trinity-rft/core/support';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { createTranscript, type TranscriptLine } from './transcript.js';

export interface Command {
  /** Program to start, looked up in PATH. No shell is used. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Working directory. @default the working directory of this process */
  readonly cwd?: string;
  /**
   * Additional environment variables. They override the variables of this process and those of the
   * endpoint.
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Text to write to standard input, which is then closed.
   * @default ""
   */
  readonly input?: string;
  /**
   * Maximum number of characters that are kept of standard output, and of standard error. The
   * oldest output is dropped.
   * @default 1_000_000
   */
  readonly transcriptLimit?: number;
}

export interface CommandResult {
  /** The last `transcriptLimit` characters of standard output, without surrounding white space. */
  readonly text: string;
  /** Number of characters of standard output that were dropped before `text`. */
  readonly dropped: number;
  /** Exit code of the program, or -1 if a signal ended it. */
  readonly exitCode: number;
  /** Name of the signal that ended the program; undefined if the program exited by itself. */
  readonly signal?: NodeJS.Signals;
  /** Lines of standard output and standard error, in the order of their arrival. */
  readonly transcript: readonly TranscriptLine[];
  /** Wall-clock duration of the program, in seconds. */
  readonly seconds: number;
}

/** Time between SIGTERM and SIGKILL, in milliseconds. */
const graceMs = 1000;

/**
 * Runs `command` with the environment variables `OPENAI_BASE_URL`, `OPENAI_API_KEY` and
 * `TRINITY_MODEL` of `endpoint`. When the program exits or `signal` aborts, the program's whole
 * process group is killed (on Windows, only the program).
 * @throws WorkflowError `PROCESS_START` if the program cannot be started; `PROCESS_FAILED`, with
 * the end of its output, if its exit code is not 0; `NO_HTTP_ADDRESS` if the endpoint has no URL
 * @throws CancelledError if `signal` aborts
 */
export async function runCommand(
  endpoint: AgentEndpoint,
  command: Command,
  signal: AbortSignal,
): Promise<CommandResult> {
  const result = await executeCommand(endpoint, command, signal);
  assertSucceeded(command, result);
  return result;
}

/** Runs a command like {@link runCommand}, but returns the result even if the program fails. */
export async function executeCommand(
  endpoint: AgentEndpoint,
  command: Command,
  signal: AbortSignal,
): Promise<CommandResult> {
  requireHttp(endpoint);
  checkFields(command);
  await turnToStart();
  if (signal.aborted) throw cancelled(command, signal);
  const startMs = performance.now();
  const transcript = createTranscript(command.transcriptLimit);
  const child = start(endpoint, command);
  // If no file descriptors are free, the child has no pipes, and the child emits an error.
  child.stdout?.setEncoding('utf8').on('data', (text: string) => transcript.add('stdout', text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => transcript.add('stderr', text));
  // Ignores write errors, because a program need not read its input.
  child.stdin?.on('error', () => undefined).end(command.input ?? '');
  const exit = await untilExit(child, command, signal);
  return {
    text: transcript.text('stdout').trim(),
    dropped: transcript.dropped('stdout'),
    ...exit,
    transcript: transcript.lines(),
    seconds: (performance.now() - startMs) / 1000,
  };
}

/**
 * Checks the fields that fail only after the program has started.
 * @throws WorkflowError that names a field and its type, or its value if it is a number
 */
function checkFields(command: Command): void {
  const refuse = (field: keyof Command, expected: string): WorkflowError => {
    const value: unknown = command[field];
    return new WorkflowError(
      `The command \`${line({ command: command.command })}\` has ${field} ${typeof value === 'number' ? value : `of type ${typeof value}`}; expected ${expected}.`,
      { code: 'PROCESS_START' },
    );
  };
  const args: unknown = command.args ?? [];
  const input: unknown = command.input ?? '';
  const limit: unknown = command.transcriptLimit ?? 0;
  if (!Array.isArray(args)) throw refuse('args', 'a list of texts');
  if (typeof input !== 'string' && !(input instanceof Uint8Array)) throw refuse('input', 'a text');
  if (typeof limit !== 'number' || !(limit >= 0))
    throw refuse('transcriptLimit', 'a number of characters from 0');
}

let lastTurn: Promise<void> = Promise.resolve();

/**
 * Waits for a turn of the event loop in which no other program is started. Starting a program
 * blocks the event loop, for 0.1 s or more on a busy machine, and many runs begin at once.
 */
const turnToStart = (): Promise<void> => (lastTurn = lastTurn.then(() => setImmediate()));

/**
 * Starts the program.
 * @throws WorkflowError for invalid arguments, such as arguments that are too long
 */
function start(endpoint: AgentEndpoint, given: Command): ChildProcess {
  const { command, args = [], cwd, env } = given;
  try {
    return spawn(command, args, {
      // Starts a new process group, so that the program's children can be killed with it.
      detached: process.platform !== 'win32',
      env: { ...process.env, ...endpoint.env(), TRINITY_MODEL: endpoint.model, ...env },
      stdio: 'pipe',
      cwd,
    });
  } catch (cause) {
    throw notStarted(given, cause);
  }
}

type Exit = Pick<CommandResult, 'exitCode' | 'signal'>;

/** Waits until the program has exited and its output has been read. */
async function untilExit(
  child: ChildProcess,
  command: Command,
  signal: AbortSignal,
): Promise<Exit> {
  // The process may exit before the program has used up its time after SIGTERM.
  const isOver = atExit(() => void killGroup(child, 'SIGKILL'));
  const { promise: exited, resolve, reject } = Promise.withResolvers<Exit>();
  child.once('error', (cause) => reject(notStarted(command, cause)));
  // Waits for 'exit' instead of 'close', because a child of the program may keep the output open.
  child.once('exit', (code, killer) =>
    resolve({ exitCode: code ?? -1, ...(killer && { signal: killer }) }),
  );
  const aborted = (): void => reject(cancelled(command, signal));
  signal.addEventListener('abort', aborted, { once: true });
  try {
    return await exited;
  } finally {
    signal.removeEventListener('abort', aborted);
    await endGroup(child);
    isOver();
  }
}

/**
 * Sends SIGTERM to the process group, waits until it has ended or {@link graceMs} has passed, sends
 * SIGKILL, and waits for the remaining output.
 */
async function endGroup(child: ChildProcess): Promise<void> {
  killGroup(child, 'SIGTERM');
  for (let waited = 0; waited < graceMs && killGroup(child, 0); waited += 20) await sleep(20);
  killGroup(child, 'SIGKILL');
  await readToEnd(child);
}

function requireHttp({ baseURL }: AgentEndpoint): void {
  if (!new URL(baseURL).hostname.endsWith('.invalid')) return;
  throw new WorkflowError(
    'The model of this run has no HTTP address, which a child process needs. ' +
      'Mount it with openEndpointServer, as the launcher does.',
    { code: 'NO_HTTP_ADDRESS' },
  );
}

/** Maximum length of a command in error messages, in characters. */
const shownLength = 300;

function line({ command, args = [] }: Command): string {
  const whole = redactText([command, ...args].join(' '));
  return whole.length > shownLength ? `${whole.slice(0, shownLength)} ...` : whole;
}

function notStarted(command: Command, cause: unknown): WorkflowError {
  return new WorkflowError(
    `\`${line(command)}\` cannot be started: ${describeError(cause)}. ` +
      'Check the command and its directory.',
    { code: 'PROCESS_START', cause },
  );
}

function cancelled(command: Command, { reason }: AbortSignal): TrinityError {
  if (TrinityError.is(reason)) return reason;
  return new CancelledError(`\`${line(command)}\` was killed, because its run has ended.`, {
    reason: 'aborted',
    cause: reason,
  });
}

/**
 * Checks that no output was dropped from the beginning of standard output.
 * @throws WorkflowError `PROCESS_OUTPUT` if output was dropped
 */
export function assertWhole(command: Command, { dropped }: CommandResult): void {
  if (dropped === 0) return;
  throw new WorkflowError(
    `\`${line(command)}\` wrote ${dropped} more characters to standard output than are kept, so the answer cannot be scored. Let it write its log to standard error, or raise transcriptLimit of the command.`,
    { code: 'PROCESS_OUTPUT', details: { dropped } },
  );
}

/** Maximum number of output lines in error messages. */
const shownLines = 8;

/**
 * Checks the exit code of the program.
 * @throws WorkflowError `PROCESS_FAILED` if it is not 0
 */
export function assertSucceeded(
  command: Command,
  { exitCode, signal, transcript }: CommandResult,
): void {
  if (exitCode === 0) return;
  const end = transcript.slice(-shownLines).map(({ text }) => `  ${text}`);
  const output = end.length > 0 ? `Its last output:\n${end.join('\n')}` : 'It had no output.';
  const how = signal === undefined ? `exited with code ${exitCode}` : `was killed by ${signal}`;
  throw new WorkflowError(redactText(`\`${line(command)}\` ${how}. ${output}`), {
    code: 'PROCESS_FAILED',
    details: { exitCode },
  });
}
