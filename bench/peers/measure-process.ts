/** Runs a program and measures time, processor time and memory, including its children. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { text } from 'node:stream/consumers';

export interface Measured {
  readonly printed: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Peak memory in GiB; undefined if the system has no `/proc`. */
  readonly memoryGib: number | undefined;
  readonly otherLoadPercent: number;
}

const [pollMs, limitMs] = [50, 3_600_000];
const pageBytes = 4096;
/** Shell code with a timer that includes the processor time of children that have ended. */
const timed = `TIMEFORMAT='%R %U %S'; { time "$@" 2>&3; } 3>&2 2>&4`;

/**
 * Measures a program.
 * @throws Error with the end of its output if the program fails or takes over an hour
 */
export async function measureProcess(command: readonly string[], cwd?: string): Promise<Measured> {
  const before = busySeconds();
  const child = spawn('bash', ['-c', timed, 'bash', ...command], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe', 'ignore', 'pipe'],
    timeout: limitMs,
    env: { ...process.env, NO_COLOR: '1' },
  });
  let peak = 0;
  const poll = setInterval(() => (peak = Math.max(peak, residentBytes(child.pid))), pollMs);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  const times = child.stdio[4] as NodeJS.ReadableStream;
  const [code, printed, errors, used] = await Promise.all([
    ended,
    text(child.stdout!),
    text(child.stderr!),
    text(times),
  ]);
  clearInterval(poll);
  if (code !== 0)
    throw new Error(`${command.join(' ')} ended with ${code}:\n${(printed + errors).slice(-2000)}`);
  const [seconds = 0, user = 0, system = 0] = used.trim().split(/\s+/).map(Number);
  const cpuSeconds = user + system;
  const others = Math.max(0, busySeconds() - before - cpuSeconds);
  return {
    printed,
    seconds,
    cpuSeconds,
    memoryGib: peak === 0 ? undefined : peak / 2 ** 30,
    otherLoadPercent: Math.round((100 * others) / (seconds * cpus().length)),
  };
}

/** Resident bytes of a process and all of its descendants; 0 if it has ended meanwhile. */
function residentBytes(pid: number | string | undefined): number {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
    const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
    );
    return children.reduce((sum, child) => sum + residentBytes(child), pages * pageBytes);
  } catch {
    return 0;
  }
}

function busySeconds(): number {
  const all = cpus().map(({ times }) => times.user + times.sys + times.nice + times.irq);
  return all.reduce((sum, each) => sum + each, 0) / 1000;
}
