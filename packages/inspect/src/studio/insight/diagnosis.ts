/** Applies the rules of `trinity doctor` to a run that may be very long and may continue. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { readExperiences } from '@trinity-rft/buffer';
import {
  diagnose,
  rolloutPages,
  rules,
  type Finding,
  type Point,
  type Role,
  type RolloutFacts,
  type RunRecord,
} from '../../diagnosis/index.js';
import type { Diagnosis } from '../interface/types.js';
import type { MetricFile } from '../metrics/metric-file.js';
import type { Run } from '../runs/run.js';

export async function diagnosisOf({ place, metrics }: Run): Promise<Diagnosis> {
  await metrics.catchUp();
  const rollouts = await newestOf(place.database);
  const failure = await readFile(path.join(place.folder, 'failure.txt'), 'utf8').catch(
    () => undefined,
  );
  const findings = await withMetrics(metrics, (asked) => diagnose({ ...asked, rollouts, failure }));
  return { findings: findings.map(toAnswer), rules: rules.length, rollouts: rollouts.length };
}

async function newestOf(database: string | undefined): Promise<readonly RolloutFacts[]> {
  if (database === undefined) return [];
  const reader = readExperiences(database);
  try {
    const facts: RolloutFacts[] = [];
    for (const page of rolloutPages(reader)) {
      facts.push(...page);
      // Other requests run in between.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return facts;
  } finally {
    reader.close();
  }
}

const wholeFileMs = 60_000;

/**
 * Runs `work` again until every metric that it asks for has been read. Other metrics are not read.
 */
async function withMetrics<T>(
  file: MetricFile,
  work: (metrics: Pick<RunRecord, 'points' | 'names'>) => T,
): Promise<T> {
  const { metrics: seen } = await file.seen(wholeFileMs);
  const known = new Map<Role, Map<string, readonly Point[]>>([
    ['explorer', new Map()],
    ['trainer', new Map()],
  ]);
  const names = (role: Role): readonly string[] =>
    [...seen.values()].filter((metric) => metric.role === role).map(({ name }) => name);
  for (;;) {
    const asked = new Map<Role, Set<string>>([
      ['explorer', new Set()],
      ['trainer', new Set()],
    ]);
    const points = (role: Role, name: string): readonly Point[] => {
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

/** Number of columns that one pass over the file reads. */
const together = 16;

async function read(
  file: MetricFile,
  role: Role,
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

type Values = Pick<Awaited<ReturnType<MetricFile['columns']>>[number], 'at' | 'length' | 'isSet'>;

/**
 * Points to use: all of the newest, and this many of those before, which is enough for trends and
 * extremes.
 */
const [newest, before] = [1000, 3000];

function pointsOf(steps: Pick<Values, 'at'>, values: Values): readonly Point[] {
  if (!values.isSet()) return [];
  const length = values.length();
  const older = Math.max(0, length - newest);
  const stride = Math.max(1, Math.ceil(older / before));
  const points: Point[] = [];
  for (let line = 0; line < length; line += line < older ? stride : 1) {
    const value = values.at(line);
    if (!Number.isNaN(value)) points.push({ step: steps.at(line), value });
  }
  return points;
}

const toAnswer = ({ numbers, rollouts, ...finding }: Finding): Diagnosis['findings'][number] => ({
  ...finding,
  numbers: numbers.map(({ value, outOf, ...number }) => ({
    ...number,
    outOf: outOf && [...outOf],
    value: Number.isFinite(value) ? value : null,
  })),
  rollouts: rollouts && { ...rollouts, ids: rollouts.ids && [...rollouts.ids] },
});
