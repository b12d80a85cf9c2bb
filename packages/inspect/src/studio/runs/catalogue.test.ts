import { appendFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { RunEvent } from '../interface/types.js';
import { createCatalogue } from './catalogue.js';
import { findRuns } from './place.js';

it('tells that a run which ended long ago goes on', async () => {
  const root = mkdtempSync(path.join(tmpdir(), 'trinity-catalogue-'));
  const file = path.join(root, 'run', 'monitor', 'metrics.jsonl');
  mkdirSync(path.dirname(file), { recursive: true });
  const addStep = (step: number): void =>
    appendFileSync(
      file,
      `${JSON.stringify({ role: 'explorer', step, metrics: {}, timing: {} })}\n`,
    );
  addStep(1);
  utimesSync(file, 1e9, 1e9);
  const catalogue = createCatalogue(root);
  const events: RunEvent[] = [];
  catalogue.follow((event) => events.push(event));
  try {
    const last = (): number | undefined => events.at(-1)?.runs[0]?.exploreStep;
    await expect.poll(last).toBe(1);
    addStep(2);
    await expect.poll(last).toBe(2);
  } finally {
    catalogue.close();
    rmSync(root, { recursive: true });
  }
}, 60_000);

function writeRuns(root: string, names: readonly string[]): void {
  for (const name of names) {
    const file = path.join(root, name, 'monitor', 'metrics.jsonl');
    mkdirSync(path.dirname(file), { recursive: true });
    appendFileSync(file, '{"role":"explorer","step":1,"metrics":{},"timing":{}}\n');
  }
}

it('tells of a removed run that a list of all runs has missed before', async () => {
  const root = mkdtempSync(path.join(tmpdir(), 'trinity-catalogue-'));
  writeRuns(root, ['a', 'b']);
  const catalogue = createCatalogue(root);
  const events: RunEvent[] = [];
  catalogue.follow((event) => events.push(event));
  try {
    await expect.poll(() => events.length).toBe(1);
    rmSync(path.join(root, 'b'), { recursive: true });
    expect((await catalogue.summaries()).map(({ id }) => id)).toEqual(['a']);
    const gone = (): readonly string[] => events.flatMap((event) => event.gone);
    await expect.poll(gone).toEqual(['b']);
  } finally {
    catalogue.close();
    rmSync(root, { recursive: true });
  }
}, 60_000);

it('lists a run whose metrics cannot be read, and the others', async () => {
  const root = mkdtempSync(path.join(tmpdir(), 'trinity-catalogue-'));
  writeRuns(root, ['a']);
  mkdirSync(path.join(root, 'b', 'monitor', 'metrics.jsonl'), { recursive: true });
  const catalogue = createCatalogue(root);
  const events: RunEvent[] = [];
  catalogue.follow((event) => events.push(event));
  try {
    const ids = (): readonly string[] => events.flatMap(({ runs }) => runs.map(({ id }) => id));
    await expect.poll(() => ids().toSorted()).toEqual(['a', 'b']);
    expect(await catalogue.summaries()).toHaveLength(2);
  } finally {
    catalogue.close();
    rmSync(root, { recursive: true });
  }
}, 60_000);

it('keeps the runs that changed last, and counts the others', async () => {
  const root = mkdtempSync(path.join(tmpdir(), 'trinity-catalogue-'));
  try {
    for (const [i, name] of ['b', 'c', 'a', 'd'].entries()) {
      const file = path.join(root, name, 'monitor', 'metrics.jsonl');
      mkdirSync(path.dirname(file), { recursive: true });
      appendFileSync(file, '');
      utimesSync(file, 1e9 + i, 1e9 + i);
    }
    const { places, left } = await findRuns(root, 3);
    expect([places.map(({ id }) => id), left]).toEqual([['d', 'a', 'c'], 1]);
  } finally {
    rmSync(root, { recursive: true });
  }
});
