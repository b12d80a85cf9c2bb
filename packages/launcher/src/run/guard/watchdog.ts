/** Starts a thread that detects a blocked event loop of the main thread. */
import { url as debuggerUrl } from 'node:inspector';
import { isMainThread, Worker } from 'node:worker_threads';
import { InvariantError } from '@trinity-rft/core';
import { inheritedFlags } from '@trinity-rft/core/support';
import { currentRun } from '@trinity-rft/explorer/internal';
import type { Place, WatchdogTask } from './watchdog-thread.js';

export interface Watchdog {
  stop(): Promise<void>;
}

const beatMs = 500;
const signals = ['SIGINT', 'SIGTERM'] as const;
/**
 * Global symbol under which the watchdog's thread finds the function that releases the signal
 * handlers, after it has paused this thread.
 */
const releaseName = 'trinity-rft.release';

/**
 * Starts the watchdog. When the event loop has been blocked for `reportAfterMs`, it reports the
 * rollout and the line of code on standard error. The next Ctrl-C then ends the process. After
 * `endAfterMs`, the watchdog itself ends the process. Does nothing under a debugger, whose
 * breakpoints block the event loop too.
 */
export function startWatchdog(times: {
  readonly reportAfterMs: number;
  readonly endAfterMs: number;
}): Watchdog {
  if (!isMainThread || debuggerUrl() !== undefined) return { stop: () => Promise.resolve() };
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const held = signalHold();
  const timer = setInterval(() => {
    held.take();
    Atomics.add(beats, 0, 1);
  }, beatMs);
  timer.unref();
  const key = Symbol.for(releaseName);
  Reflect.set(globalThis, key, (): Place => {
    held.release();
    return { run: currentRun(), code: interruptedCode() };
  });
  const releaseExpression = `globalThis[Symbol.for(${JSON.stringify(releaseName)})]()`;
  const workerData: WatchdogTask = { beats, ...times, releaseExpression };
  const thread = new Worker(new URL('./watchdog-thread.js', import.meta.url), {
    name: 'trinity-watchdog',
    workerData,
    ...inheritedFlags(),
  });
  thread.unref();
  // The training run continues if the watchdog fails.
  thread.on('error', () => undefined);
  return {
    stop: async () => {
      clearInterval(timer);
      held.take();
      Reflect.deleteProperty(globalThis, key);
      await thread.terminate();
    },
  };
}

/** Returns the innermost place outside of Node's own code where the thread was paused. */
function interruptedCode(): string {
  const frames = (new InvariantError('').stack ?? '').split('\n').map((line) => line.trim());
  const below = frames.slice(frames.findIndex((frame) => frame.startsWith('at eval')) + 1);
  const place = below.find((frame) => !frame.includes('(node:')) ?? below[0] ?? 'an unknown place';
  return place.replace(/^at (?:async )?/, '');
}

/**
 * Creates functions that remove and restore signal handlers. While the event loop is blocked,
 * handlers are never called, but they prevent a signal from ending the process.
 */
function signalHold() {
  let removed: (readonly [NodeJS.Signals, NodeJS.SignalsListener])[] = [];
  return {
    release: (): void => {
      for (const name of signals) {
        for (const listener of process.listeners(name)) {
          removed.push([name, listener]);
          process.off(name, listener);
        }
      }
    },
    take: (): void => {
      for (const [name, listener] of removed) process.on(name, listener);
      removed = [];
    },
  };
}
