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
    await expect.poll(last, { timeout: 30_000 }).toBe(1);
    addStep(2);
    await expect.poll(last, { timeout: 30_000 }).toBe(2);
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
