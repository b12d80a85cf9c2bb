/** Starts runs that outlive the studio. */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { redactText } from '@trinity-rft/core/support';
import { endOfFile } from '@trinity-rft/inspect/studio';
import type { StartedRun } from '../interface/index.js';
import { environmentOf, type TrinityCommand } from '../shared/command.js';

export interface StartedRuns {
  /**
   * Starts the run of a configuration.
   * @param cwd working directory of the command
   */
  start(file: string, cwd: string): Promise<StartedRun>;
  /** Started runs, the newest first. */
  list(): Promise<readonly StartedRun[]>;
  /** Deletes the output of ended runs; other runs continue. */
  close(): Promise<void>;
}

interface Entry {
  readonly id: string;
  readonly file: string;
  readonly child: ChildProcess;
  readonly startedAt: number;
  readonly folder: string;
}

/** Maximum number of bytes of a run's output that are read, from its end. */
const lastBytes = 16_384;
/** Maximum number of listed runs. The output of older runs is deleted once they have ended. */
const most = 20;
/**
 * Time in ms between the start of a run and the first report of its state. It is long enough for
 * the report to include an immediate failure.
 */
const firstLookMs = 50;

export function createStartedRuns({ command, env }: TrinityCommand, root: string): StartedRuns {
  /** Started runs, the newest first. Runs beyond the maximum are removed once they have ended. */
  let entries: readonly Entry[] = [];
  let count = 0;
  return {
    start: async (file, cwd) => {
      const folder = await mkdtemp(path.join(tmpdir(), 'trinity-run-'));
      const output = openSync(path.join(folder, outputName), 'w', 0o600);
      const [program = '', ...first] = command;
      const child = spawn(program, [...first, 'run', path.relative(cwd, file)], {
        cwd,
        env: environmentOf(env),
        detached: true,
        stdio: ['ignore', output, output],
      });
      closeSync(output);
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', resolve).once('error', reject);
      }).catch(async (error: unknown) => {
        await forget({ folder });
        throw error;
      });
      child.unref();
      const name = path.relative(root, file).split(path.sep).join('/');
      const entry = { id: `${++count}`, file: name, child, startedAt: Date.now(), folder };
      const old = entries.slice(most - 1).filter(hasEnded);
      entries = [entry, ...entries.filter((each) => !old.includes(each))];
      await Promise.all(old.map(forget));
      await new Promise((resolve) => setTimeout(resolve, firstLookMs));
      return describe(entry);
    },
    list: () => Promise.all(entries.slice(0, most).map(describe)),
    close: async () => {
      await Promise.all(entries.filter(hasEnded).map(forget));
    },
  };
}

const outputName = 'output.txt';
const hasEnded = ({ child }: Entry): boolean =>
  child.exitCode !== null || child.signalCode !== null;
const forget = ({ folder }: Pick<Entry, 'folder'>): Promise<void> =>
  rm(folder, { recursive: true, force: true });

async function describe(entry: Entry): Promise<StartedRun> {
  const { id, file, child, startedAt, folder } = entry;
  return {
    id,
    file,
    pid: child.pid ?? 0,
    startedAt,
    exitCode: hasEnded(entry) ? child.exitCode : undefined,
    output: redactText(await endOfFile(path.join(folder, outputName), lastBytes)),
  };
}
