/**
 * The watchdog's thread. It detects a blocked event loop of the main thread, and reports the
 * blocking code. It imports only modules of Node, so that it starts quickly.
 */
import { writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import { workerData } from 'node:worker_threads';

export interface WatchdogTask {
  /** Heartbeat counter. The main thread increments it while its event loop runs. */
  readonly beats: Int32Array;
  /** Time in ms that the main thread may be blocked before it is reported. */
  readonly reportAfterMs: number;
  /** Time in ms that the main thread may be blocked before the process is ended. */
  readonly endAfterMs: number;
  /**
   * Expression that the main thread evaluates. It removes the signal handlers, and returns the
   * place of the blocking code.
   */
  readonly releaseExpression: string;
}

const { beats, reportAfterMs, endAfterMs, releaseExpression } = workerData as WatchdogTask;
const everyMs = 250;
/**
 * Time in ms to wait until the main thread pauses. A main thread in native code does not respond.
 */
const pauseTimeoutMs = 1500;

/** Result of {@link WatchdogTask.releaseExpression}. */
export interface Place {
  readonly run: string | undefined;
  /** Place in the code: `function (file:line:column)`. */
  readonly code: string;
}

let lastBeat = Atomics.load(beats, 0);
// Counts ticks of this thread instead of elapsed time, so that the time during which the machine
// sleeps is not considered blocked.
let blockedTicks = 0;
let reported = false;

setInterval(() => {
  const beat = Atomics.load(beats, 0);
  blockedTicks = beat === lastBeat ? blockedTicks + 1 : 0;
  lastBeat = beat;
  if (blockedTicks === 0 && reported) {
    reported = false;
    say('The event loop runs again.');
  }
  if (!reported && blockedTicks * everyMs >= reportAfterMs) {
    reported = true;
    locate({ report, returned });
  }
  if (reported && blockedTicks * everyMs >= endAfterMs) endProcess();
}, everyMs);

function report(place: Place | undefined): void {
  const blocked = `The event loop has been blocked for ${Math.round(reportAfterMs / 1000)} s`;
  const waits = 'Other runs, deadlines and checkpoints wait for it.';
  if (!place) {
    say(
      `${blocked} by a call that does not return: a synchronous file, process or native function in a workflow? ${waits} To stop at once: kill -9 ${process.pid}. The same command resumes the run.`,
    );
    return;
  }
  say(
    `${blocked} by ${named(place)}. ${waits} An agent must await between pieces of long work. Press Ctrl-C to stop at once; the same command resumes the run.`,
  );
}

/** Reports where the main thread was blocked. Called after the blocking call has returned. */
const returned = (place: Place): void =>
  say(`The call that blocked it was made by ${named(place)}.`);

const named = ({ run, code }: Place): string =>
  `${run === undefined ? 'code outside of any run' : `run ${run}`}, at ${code}`;

function endProcess(): void {
  say(
    `The event loop was blocked for longer than a run may take (explorer.max_timeout, ${endAfterMs / 1000} s). The process ends; the same command resumes the run.`,
  );
  process.kill(process.pid, 'SIGKILL');
}

interface Listener {
  /** Called with the place of the blocking code; undefined if the main thread does not respond. */
  readonly report: (place: Place | undefined) => void;
  /** Called with the place if the main thread responds only after `report` was called. */
  readonly returned: (place: Place) => void;
}

function locate({ report, returned }: Listener): void {
  const session = new Session();
  let isLate = false;
  const finish = (place: Place | undefined): void => {
    clearTimeout(timer);
    session.disconnect();
    if (!isLate) report(place);
    else if (place) returned(place);
  };
  const timer = setTimeout(() => {
    report(undefined);
    isLate = true;
  }, pauseTimeoutMs);
  session.on('Debugger.paused', ({ params: { callFrames } }) => {
    const [top] = callFrames;
    if (!top) return finish(undefined);
    session.post(
      'Debugger.evaluateOnCallFrame',
      { callFrameId: top.callFrameId, expression: releaseExpression, returnByValue: true },
      (error, answer) => finish(error ? undefined : (answer.result.value as Place)),
    );
  });
  session.connectToMainThread();
  session.post('Debugger.enable');
  session.post('Debugger.pause');
}

function say(text: string): void {
  try {
    writeSync(2, `\n${text}\n`);
  } catch {
    // Ignored: nothing reads the output of the process.
  }
}
