/** Runs the sides of a row in turns. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { measureProcess } from './measure-process.ts';
import type { Figures, Place, Row, RowResult, Run, Side } from './row.ts';

export type Surroundings = Omit<Place, 'folder'>;

/** Runs a row. If a side fails, the failure is recorded and the other sides continue. */
export async function runRow(
  row: Row,
  around: Surroundings,
  progress: (run: Run) => void,
): Promise<RowResult> {
  const folder = await mkdtemp(path.join(tmpdir(), `trinity-peers-${row.name}-`));
  const runs: Run[] = [];
  const missing: string[] = [];
  try {
    const repeats = row.repeats ?? (row.learns ? around.seeds : around.repeats);
    const { ours, peers } = await row.prepare({ ...around, folder, repeats });
    let sides = [ours, ...peers];
    for (let repeat = 0; repeat < repeats; repeat++) {
      for (const side of sides) {
        try {
          const run = await runSide(side, repeat);
          runs.push(run);
          progress(run);
        } catch (error) {
          missing.push(`${side.name}: ${(error as Error).message}`);
        }
      }
      const finished = new Set(runs.map(({ side }) => side));
      const fastest = fastestOf(runs, peers);
      sides = sides.filter((side) =>
        side === ours ? finished.has(side.name) : side.name === fastest,
      );
    }
    return { name: row.name, job: row.job, note: row.note, ours: ours.name, runs, missing };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runSide(side: Side, repeat: number): Promise<Run> {
  const { printed, ...process } = await measureProcess(side.command(repeat), side.cwd);
  const figures = await (side.read ?? lastLine)(printed, repeat);
  return {
    side: side.name,
    repeat,
    seconds: figures.seconds ?? process.seconds,
    cpuSeconds: figures.cpuSeconds ?? process.cpuSeconds,
    parts: figures.parts ?? {},
    processSeconds: process.seconds,
    memoryGib: process.memoryGib,
    otherLoadPercent: process.otherLoadPercent,
  };
}

async function lastLine(printed: string): Promise<Figures> {
  return JSON.parse(printed.trim().split('\n').at(-1) ?? '') as Figures;
}

/** Name of the peer with the shortest time. */
function fastestOf(runs: readonly Run[], peers: readonly Side[]): string | undefined {
  const names = new Set(peers.map(({ name }) => name));
  const theirs = runs.filter(({ side }) => names.has(side));
  return theirs.toSorted((a, b) => a.seconds - b.seconds)[0]?.side;
}
