/**
 * Supervised process of a run. It is restarted after a crash, and ended together with the other
 * processes.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { systemClock } from '@trinity-rft/core';
import { readToEnd } from '@trinity-rft/core/support';
import { exitCodes } from '../shared/exit-codes.js';
import { ownCommand } from '../shared/server-flags.js';

export interface ChildOptions {
  /** Name in messages, such as `trainer` or `explorer-2`. */
  readonly name: string;
  /** Arguments of the `trinity` command. */
  readonly args: readonly string[];
  /**
   * True to pass the process's output on to that of the supervisor; false to keep its last lines
   * for a failure report.
   */
  readonly isShown: boolean;
  readonly onRestart: (message: string) => void;
  /**
   * Called before a restart. Resolves to false if it would not help. @default every restart may
   * help
   */
  readonly mayHelp?: (() => Promise<boolean>) | undefined;
  /**
   * Returns a number that grows while the work advances, such as the last train step.
   * @default the number never grows
   */
  readonly progress?: (() => number | Promise<number>) | undefined;
  /**
   * True if the process is not restarted after it has ended with the exit code of an interrupt.
   * @default false
   */
  readonly mayBeInterrupted?: boolean;
}

export interface Child {
  /** Resolves when the process has ended and will not restart. */
  readonly ended: Promise<ChildEnd>;
  /** Asks the process to finish its work. */
  stop(): void;
  kill(): void;
}

export interface ChildEnd {
  readonly name: string;
  readonly exitCode: number;
  /** Last lines of output since the last restart; empty if the output was shown. */
  readonly output: string;
  /** How the process ended, such as `was ended by SIGKILL`. */
  readonly reason: string;
}

/**
 * Maximum number of consecutive restarts. A process that has run for longer than {@link healthyMs}
 * starts a new count.
 */
const maxRestarts = 5;
/**
 * Maximum number of restarts while the work does not advance: loading a model may take longer than
 * {@link healthyMs}, and the same step may fail after each restart.
 */
const maxIdleRestarts = 20;
const healthyMs = 60_000;
const firstPauseMs = 1000;

export function startChild(options: ChildOptions): Child {
  let current: ChildProcess | undefined;
  let stopping = false;
  const pause = new AbortController();
  const run = async (): Promise<ChildEnd> => {
    let furthest = 0;
    let idleRestarts = 0;
    for (let restarts = 0; ; restarts++) {
      const start = Date.now();
      const lines = lastLines(20);
      const { code, reason } = await runOnce(options, lines, (child) => {
        current = child;
      });
      const ranMs = Date.now() - start;
      const end = { name: options.name, exitCode: code, output: lines.text(), reason };
      const isOver =
        isFinal(code) || (options.mayBeInterrupted === true && code === exitCodes.interrupted);
      if (stopping || isOver || (await options.mayHelp?.()) === false) return end;
      const reached = (await options.progress?.()) ?? 0;
      if (reached > furthest) idleRestarts = 0;
      furthest = Math.max(furthest, reached);
      if (ranMs > healthyMs) restarts = 0;
      if (restarts >= maxRestarts || idleRestarts++ >= maxIdleRestarts) return end;
      const pauseMs = firstPauseMs * 2 ** restarts;
      options.onRestart(`${options.name} ${reason}; it starts again in ${pauseMs / 1000} s.`);
      await systemClock.sleep(pauseMs, pause.signal).catch(() => undefined);
      if (stopping) return end;
    }
  };
  return {
    ended: run(),
    stop: () => {
      stopping = true;
      pause.abort();
      current?.kill('SIGTERM');
    },
    kill: () => {
      stopping = true;
      pause.abort();
      current?.kill('SIGKILL');
    },
  };
}

/**
 * True for exit codes after which a restart would not help, or would wait for an environment
 * forever.
 */
const isFinal = (code: number): boolean =>
  code === exitCodes.done || code === exitCodes.userError || code === exitCodes.environmentDown;

interface Exit {
  readonly code: number;
  readonly reason: string;
}

/**
 * Starts the process in its own process group. Ctrl-C therefore reaches only the supervisor, which
 * stops the processes.
 */
function runOnce(
  { args, isShown }: ChildOptions,
  lines: LastLines,
  onStart: (child: ChildProcess) => void,
): Promise<Exit> {
  const output = isShown ? 'inherit' : 'pipe';
  const [program, ...first] = ownCommand();
  const child = spawn(program, [...first, ...args], {
    stdio: ['ignore', output, output, 'ipc'],
    detached: true,
  });
  onStart(child);
  child.stdout?.on('data', (text: Buffer) => lines.add(String(text)));
  child.stderr?.on('data', (text: Buffer) => lines.add(String(text)));
  return new Promise((resolve) => {
    child.on('error', (error) =>
      resolve({ code: exitCodes.failed, reason: `could not be started: ${error.message}` }),
    );
    child.on('exit', (code, signal) => {
      const exit =
        signal === null
          ? { code: code ?? exitCodes.failed, reason: `ended with exit code ${code}` }
          : { code: exitCodes.failed, reason: `was ended by ${signal}` };
      // Programs that a workflow has started may keep the pipes open.
      void readToEnd(child).then(() => resolve(exit));
    });
  });
}

interface LastLines {
  add(text: string): void;
  text(): string;
}

function lastLines(count: number): LastLines {
  let kept = '';
  return {
    add: (text) => {
      kept = (kept + text).split('\n').slice(-count).join('\n');
    },
    text: () => kept.trim(),
  };
}
