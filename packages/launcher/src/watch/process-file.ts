/**
 * Reads and writes `status.json`, the status of a process that explores and trains alone. The file
 * is written once a second. Processes that share a training run use the run store instead.
 */
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import type { MemberRole, Wait } from '@trinity-rft/core/store';
import { replaceFileSync, tryJson } from '@trinity-rft/core/support';

const processFileName = 'status.json';
const beatMs = 1000;

export interface ProcessFile {
  /**
   * Marks the explorer or trainer of this process as waiting until the returned function is called.
   */
  wait(role: MemberRole, wait: Pick<Wait, 'what' | 'on'>): () => void;
  close(): void;
}

/** Progress of the training run. */
export interface ProcessProgress {
  readonly exploreStep: number;
  readonly trainStep: number;
  /** Version of the weights that the explorer uses. */
  readonly version: number;
}

/** Contents of `status.json`. */
interface ProcessBeat {
  readonly pid: number;
  readonly host: string;
  /** Time of writing, in milliseconds since the epoch. */
  readonly at: number;
  readonly waits: Readonly<Record<MemberRole, readonly Wait[]>>;
  readonly progress: ProcessProgress;
}

/** Reads `status.json`. Returns undefined if there is no file, or none that was written completely. */
export async function readProcessBeat(jobDirectory: string): Promise<ProcessBeat | undefined> {
  const file = path.join(jobDirectory, processFileName);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return (tryJson(text) ?? undefined) as ProcessBeat | undefined;
}

interface Entry extends Pick<Wait, 'what' | 'on'> {
  readonly role: MemberRole;
  readonly since: number;
}

export function openProcessFile(
  jobDirectory: string,
  progress: () => ProcessProgress,
): ProcessFile {
  const file = path.join(jobDirectory, processFileName);
  const waits = new Set<Entry>();
  const write = (): void => {
    const now = Date.now();
    const of = (role: MemberRole): readonly Wait[] =>
      [...waits]
        .filter((entry) => entry.role === role)
        .map(({ what, on, since }) => ({ what, on, forMs: now - since }));
    const own = { pid: process.pid, host: hostname(), at: now };
    const both = { explorer: of('explorer'), trainer: of('trainer') };
    const beat: ProcessBeat = { ...own, waits: both, progress: progress() };
    try {
      replaceFileSync(file, JSON.stringify(beat));
    } catch {
      // Ignored: other writes report a full disk.
    }
  };
  write();
  // A real timer instead of the training run's clock, because the file shows whether the process is
  // alive.
  const timer = setInterval(write, beatMs);
  timer.unref();
  return {
    wait: (role, { what, on }) => {
      const entry = { what, on, role, since: Date.now() };
      waits.add(entry);
      return () => void waits.delete(entry);
    },
    close: () => {
      clearInterval(timer);
      rmSync(file, { force: true });
    },
  };
}
