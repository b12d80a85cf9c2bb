/**
 * A program as an agent: it gets the address and key of its run's model in its environment, and
 * leaves nothing running.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CancelledError,
  describeError,
  redactText,
  TrinityError,
  WorkflowError,
} from '@trinity-rft/core';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { createTranscript, type TranscriptLine } from './transcript.js';

export interface Command {
  /** Program, found as a shell finds it; no shell is started. */
  readonly command: string;
  readonly args?: readonly string[];
  /** @default the directory of this process */
  readonly cwd?: string;
  /** Variables besides those of this process; they win over the endpoint's. */
  readonly env?: Readonly<Record<string, string>>;
  /** Written to its standard input, which is then closed. @default "" */
  readonly input?: string;
  /**
   * How many characters of its output are kept, the newest; more are counted.
   * @default 1,000,000
   */
  readonly transcriptLimit?: number;
}

export interface CommandResult {
  /** Its standard output, without white space around it. */
  readonly text: string;
  readonly exitCode: number;
  /** Both outputs, line by line, in order of arrival. */
  readonly transcript: readonly TranscriptLine[];
  /** Wall time. */
  readonly seconds: number;
}

/** Time between asking a program to end and ending it, in milliseconds. */
const graceMs = 1000;

/**
 * Runs `command` with `OPENAI_BASE_URL`, `OPENAI_API_KEY` and `TRINITY_MODEL` of `endpoint`. When
 * it has ended, or `signal` aborts, every process that it started and that is still in its process
 * group is ended too (on Windows: the program itself).
 * @throws WorkflowError `PROCESS_START` when it cannot be started, `PROCESS_FAILED` when it exits
 * with another code than 0, with the end of its output in the message; CancelledError when `signal`
 * aborts
 */
export async function runCommand(
  endpoint: AgentEndpoint,
  command: Command,
  signal: AbortSignal,
): Promise<CommandResult> {
  requireHttp(endpoint);
  if (signal.aborted) throw cancelled(command, signal);
  const begun = performance.now();
  const transcript = createTranscript(command.transcriptLimit);
  const child = start(endpoint, command);
  // Without file descriptors to spare there are no pipes; the child says so in an event.
  child.stdout?.setEncoding('utf8').on('data', (text: string) => transcript.add('stdout', text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => transcript.add('stderr', text));
  // A program that does not read its input is no error.
  child.stdin?.on('error', () => undefined).end(command.input ?? '');
  const exitCode = await untilOver(child, command, signal);
  const result = {
    text: transcript.text('stdout').trim(),
    exitCode,
    transcript: transcript.lines(),
    seconds: (performance.now() - begun) / 1000,
  };
  if (exitCode !== 0) throw failed(command, result);
  return result;
}

/**
 * @throws WorkflowError for what no program can be started with: arguments that are too long, or
 * hold a zero byte
 */
function start(endpoint: AgentEndpoint, given: Command): ChildProcess {
  const { command, args = [], cwd, env } = given;
  try {
    return spawn(command, args, {
      // A group of its own, so that its children can be ended with it.
      detached: process.platform !== 'win32',
      env: { ...process.env, ...endpoint.env(), TRINITY_MODEL: endpoint.model, ...env },
      stdio: 'pipe',
      ...(cwd !== undefined && { cwd }),
    });
  } catch (cause) {
    throw notStarted(given, cause);
  }
}

/** Resolves with the exit code once the program has ended and its output is read. */
async function untilOver(
  child: ChildProcess,
  command: Command,
  signal: AbortSignal,
): Promise<number> {
  const { promise: over, resolve, reject } = Promise.withResolvers<number>();
  const closed = new Promise<void>((done) => child.once('close', () => done()));
  child.once('error', (cause) => reject(notStarted(command, cause)));
  // A child of the program may hold its output open: what counts is its own end.
  child.once('exit', (code) => resolve(code ?? -1));
  const aborted = (): void => reject(cancelled(command, signal));
  signal.addEventListener('abort', aborted, { once: true });
  try {
    return await over;
  } finally {
    signal.removeEventListener('abort', aborted);
    await endGroup(child, closed);
  }
}

/**
 * Ends the program and its group, first asked to, then forced to; and reads what they have written.
 */
async function endGroup(child: ChildProcess, closed: Promise<void>): Promise<void> {
  kill(child, 'SIGTERM');
  for (let waited = 0; waited < graceMs && kill(child, 0); waited += 20) await sleep(20);
  kill(child, 'SIGKILL');
  // Somebody outside of the group may hold the output open.
  await Promise.race([closed, sleep(graceMs, undefined, { ref: false })]);
}

/** False when nobody is left to get it. */
function kill(child: ChildProcess, name: NodeJS.Signals | 0): boolean {
  if (child.pid === undefined) return false;
  try {
    return process.platform === 'win32' ? child.kill(name) : process.kill(-child.pid, name);
  } catch {
    return false;
  }
}

function requireHttp({ baseURL }: AgentEndpoint): void {
  if (!new URL(baseURL).hostname.endsWith('.invalid')) return;
  throw new WorkflowError(
    'The model of this run has no HTTP address, which a process of its own needs. Mount it with openEndpointServer, as the launcher does.',
    { code: 'NO_HTTP_ADDRESS' },
  );
}

/** Characters of a command that a message shows. */
const shownLength = 300;

function line({ command, args = [] }: Command): string {
  const whole = redactText([command, ...args].join(' '));
  return whole.length > shownLength ? `${whole.slice(0, shownLength)} ...` : whole;
}

function notStarted(command: Command, cause: unknown): WorkflowError {
  return new WorkflowError(
    `\`${line(command)}\` cannot be started: ${describeError(cause)}. Check the command and its directory.`,
    {
      code: 'PROCESS_START',
      cause,
    },
  );
}

function cancelled(command: Command, { reason }: AbortSignal): TrinityError {
  if (TrinityError.is(reason)) return reason;
  return new CancelledError(`\`${line(command)}\` was ended: its run is over.`, {
    reason: 'aborted',
    cause: reason,
  });
}

/** Lines of output that a message shows. */
const shownLines = 8;

function failed(command: Command, { exitCode, transcript }: CommandResult): WorkflowError {
  const end = transcript.slice(-shownLines).map(({ text }) => `  ${text}`);
  const said = end.length > 0 ? `It said last:\n${end.join('\n')}` : 'It said nothing.';
  return new WorkflowError(
    redactText(`\`${line(command)}\` ended with exit code ${exitCode}. ${said}`),
    {
      code: 'PROCESS_FAILED',
      details: { exitCode },
    },
  );
}
