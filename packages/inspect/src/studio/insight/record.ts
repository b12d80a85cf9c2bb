/**
 * Builds the record of a training run that the diagnosis rules and the verdict read. The run may be
 * very long, and may still be in progress.
 */
import { open } from 'node:fs/promises';
import { readExperiences } from '@trinity-rft/buffer';
import {
  changeIn,
  rolloutPages,
  type MetricRole,
  type Point,
  type RolloutFacts,
  type RunRecord,
} from '../../diagnosis/index.js';
import { failureOf, logFiles } from '../../verify/folder.js';
import { readLines } from '../metrics/blocks.js';
import type { Column } from '../metrics/columns.js';
import type { MetricFile } from '../metrics/metric-file.js';
import type { Run } from '../runs/run.js';

/**
 * Calls `work` with the record of a run. Metrics are read when `work` requests them: if a requested
 * metric was not read yet, `work` is called again once it is. Other metrics are not read.
 */
export async function withRecord<T>(
  { place, metrics }: Run,
  work: (record: RunRecord) => T,
): Promise<T> {
  await metrics.catchUp();
  const rollouts = await newestOf(place.database);
  const failure = await failureOf(place.folder);
  const changes: string[] = [];
  for (const file of logFiles(place.folder)) changes.push(...(await changesIn(file)));
  return withMetrics(metrics, (asked) => work({ ...asked, rollouts, failure, changes }));
}

async function changesIn(logFile: string): Promise<readonly string[]> {
  const handle = await open(logFile).catch(() => undefined);
  if (!handle) return [];
  await using log = handle;
  const { size } = await log.stat();
  const changes: string[] = [];
  await readLines(log, [0, size], (block, begin, end) => {
    changes.push(...changeIn(block.toString('utf8', begin, end)));
  });
  return changes;
}

async function newestOf(database: string | undefined): Promise<readonly RolloutFacts[]> {
  if (database === undefined) return [];
  const reader = readExperiences(database);
  try {
    const facts: RolloutFacts[] = [];
    for (const page of rolloutPages(reader)) {
      facts.push(...page);
      // Lets other requests run.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return facts;
  } finally {
    reader.close();
  }
}

const roles: readonly MetricRole[] = ['explorer', 'trainer', 'bench'];
const wholeFileMs = 60_000;

async function withMetrics<T>(
  file: MetricFile,
  work: (metrics: Pick<RunRecord, 'points' | 'names'>) => T,
): Promise<T> {
  const { metrics: seen } = await file.seen(wholeFileMs);
  const known = new Map(roles.map((role) => [role, new Map<string, readonly Point[]>()]));
  const names = (role: MetricRole): readonly string[] =>
    [...seen.values()].filter((metric) => metric.role === role).map(({ name }) => name);
  for (;;) {
    const asked = new Map(roles.map((role) => [role, new Set<string>()]));
    const points = (role: MetricRole, name: string): readonly Point[] => {
      const found = known.get(role)?.get(name);
      if (!found) asked.get(role)?.add(name);
      return found ?? [];
    };
    const result = work({ points, names });
    if ([...asked.values()].every((missing) => missing.size === 0)) return result;
    for (const [role, missing] of asked)
      for (const [name, found] of await read(file, role, [...missing]))
        known.get(role)?.set(name, found);
  }
}

/** Number of metrics that are read in one pass over the file. */
const together = 16;

async function read(
  file: MetricFile,
  role: MetricRole,
  names: readonly string[],
): Promise<ReadonlyMap<string, readonly Point[]>> {
  const found = new Map<string, readonly Point[]>();
  const steps = file.roles.get(role)?.steps;
  for (let i = 0; i < names.length; i += together) {
    const some = names.slice(i, i + together);
    const columns = await file.columns(role, some);
    for (const [j, name] of some.entries()) {
      const column = columns[j];
      found.set(name, column && steps ? pointsOf(steps, column) : []);
    }
  }
  return found;
}

/**
 * Number of newest points that are all kept, and maximum number of points that are kept of the
 * older ones.
 */
const [newest, before] = [1000, 3000];

function pointsOf(steps: Column, values: Column): readonly Point[] {
  const points: Point[] = [];
  for (let line = 0; line < values.length(); line++)
    if (values.has(line)) points.push({ step: steps.at(line), value: values.at(line) });
  const older = Math.max(0, points.length - newest);
  const stride = Math.max(1, Math.ceil(older / before));
  return points.filter((_, i) => i >= older || i % stride === 0);
}
