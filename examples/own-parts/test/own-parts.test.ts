import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { leaseStore } from '@trinity-rft/buffer/driver';
import { createExperience } from '@trinity-rft/core';
import { describeEngine, describeExperienceStore } from '@trinity-rft/testing';
import { afterAll, expect, it } from 'vitest';
import { openBigrams } from '../src/engine.ts';
import { train } from '../src/index.ts';
import { journalRows } from '../src/store.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'own-parts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const numbered = (n: number) =>
  createExperience({ eid: { batch: 1, task: n }, tokens: [1, 2], promptLength: 1, reward: n });

describeEngine('an engine of one’s own', {
  open: async () => openBigrams(16, 1024, 1),
  vocabSize: 16,
});

describeExperienceStore(
  'of one’s own',
  (directory, options) => leaseStore(journalRows(path.join(directory, 'journal')), options),
  { durable: true },
);

it('a journal keeps nothing of a line that was cut off, and names one that is damaged', async () => {
  const file = path.join(folder, 'cut', 'journal');
  const open = () => leaseStore(journalRows(file));
  const store = open();
  await store.put([numbered(0)], { step: 1 });
  await store.put([numbered(1)], { step: 2 });
  await store.close();
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.slice(0, -10));
  const cut = open();
  expect([(await cut.counts()).total, await cut.explorerState()]).toEqual([1, { step: 1 }]);
  await cut.put([numbered(1)]);
  await cut.close();
  const again = open();
  expect((await again.counts()).total).toBe(2);
  await again.close();
  writeFileSync(file, text.replace('insert', 'insort'));
  expect(open).toThrow('journal, line 1: ');
});

it('a run with an engine, a store, an environment and a monitor of its own learns', async () => {
  const lines: string[] = [];
  const terminal = { isTTY: false, columns: () => 80, write: (text: string) => lines.push(text) };
  const { trainStep } = await train(folder, terminal);
  expect(trainStep).toBe(30);
  const store = leaseStore(journalRows(path.join(folder, 'journal.jsonl')));
  // 30 steps of 8 tasks, each run 8 times.
  expect(await store.counts()).toMatchObject({ total: 1920, trained: 1920 });
  await store.close();
  const csv = path.join(folder, 'runs/Trinity-RFT/own-parts/monitor/metrics.csv');
  const rewards = readFileSync(csv, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('explorer,') && line.includes(',rollout/reward/mean,'))
    .map((line) => Number(line.split(',').at(-1)));
  expect(rewards).toHaveLength(30);
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  // A guessing policy gets a reward below 1/12.
  expect(mean(rewards.slice(0, 3))).toBeLessThan(0.3);
  expect(mean(rewards.slice(-5))).toBeGreaterThan(0.5);
}, 60_000);
