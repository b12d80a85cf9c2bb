/** `trinity run --studio`: serves the studio until the run ends. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { systemClock, type Clock } from '@trinity-rft/core';
import { waitingFor } from '@trinity-rft/core/support';
import type { Terminal } from '@trinity-rft/launcher';
import { interruptible } from './interrupt.js';
import { ownCommand } from './server-flags.js';

/** Milliseconds that the run waits for the studio to start, and that the studio has to end. */
const [startMs, stopMs] = [30_000, 5000];

/**
 * Runs the studio in another process, so that reading data for its page takes no time from the
 * training loop. If the studio cannot start, or takes long to start, the run continues and the reason
 * is written to standard error.
 * @param folder folder of runs, which is created if it is missing
 */
export async function withStudio<T>(
  folder: string,
  terminal: Terminal,
  work: () => Promise<T>,
  clock: Pick<Clock, 'now' | 'after'> = systemClock,
): Promise<T> {
  await mkdir(folder, { recursive: true });
  // A process group of its own keeps the studio alive at the first Ctrl-C, at which the run saves a
  // checkpoint. The channel ends the studio if this process is killed.
  const [program, ...first] = ownCommand();
  const studio = spawn(program, [...first, 'studio', folder, '--beside'], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    detached: true,
  });
  const ended = new Promise<void>((resolve) => {
    studio.once('exit', () => resolve()).once('error', () => resolve());
  });
  const say = (line: string): void => terminal.write(`${line}\n`);
  let [hasBegun, isOver] = [false, false];
  const shown = addressOf(studio).then((url) => {
    if (isOver) return;
    // The run may have begun, and its progress may stand on the line of the cursor.
    if (hasBegun && terminal.isTTY) terminal.write('\n');
    say(
      url === undefined
        ? 'The studio did not start; the run continues without it.\n'
        : `Studio, until the run ends: ${url}\n`,
    );
    if (url !== undefined && terminal.isTTY) openBrowser(url);
  });
  const { promise: late, resolve: isLate } = Promise.withResolvers<'late'>();
  const cancelStart = clock.after(startMs, () => isLate('late'));
  const what = `the studio, which looks for runs in ${folder}`;
  const log = { clock, logger: { info: say, warn: say } };
  const outcome = await waitingFor(log, { what }, () => Promise.race([shown, late]));
  cancelStart();
  if (outcome === 'late')
    say(`The studio has not started within ${startMs / 1000} s; the run begins without it.\n`);
  hasBegun = true;
  try {
    return await work();
  } finally {
    isOver = true;
    // Ends the studio, which lets open pages load the last state.
    if (studio.connected) studio.disconnect();
    const kill = (): void => void studio.kill('SIGKILL');
    const cancelStop = clock.after(stopMs, kill);
    // The run is over: Ctrl-C ends the studio, and leaves the run's result as it is.
    const leave = (signal: AbortSignal): Promise<void> => {
      signal.addEventListener('abort', kill);
      return ended;
    };
    await interruptible(terminal, leave, 'ending the studio');
    cancelStop();
  }
}

/** Returns the studio's URL, or undefined if the studio ended without printing it. */
async function addressOf({ stdout }: ChildProcess): Promise<string | undefined> {
  if (!stdout) return undefined;
  const lines = createInterface(stdout);
  for await (const line of lines) {
    const url = /^Open (\S+)$/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  return undefined;
}

/** Program that opens a URL on each platform. Platforms that are not listed have `xdg-open`. */
const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Opens the URL in a browser. Ignores failures, because the terminal shows the URL too. */
function openBrowser(url: string): void {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env;
  const opener = openers[process.platform] ?? ((DISPLAY ?? WAYLAND_DISPLAY) ? ['xdg-open'] : []);
  const [program, ...args] = opener;
  if (program === undefined) return;
  const browser = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  browser.on('error', () => undefined);
  browser.unref();
}
