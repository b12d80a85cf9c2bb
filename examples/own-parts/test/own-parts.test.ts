import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describeEngine } from '@trinity-rft/testing';
import { afterAll, expect, it } from 'vitest';
import { openBigrams } from '../src/engine.ts';
import { train } from '../src/index.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'own-parts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describeEngine('an engine of one’s own', {
  open: async () => openBigrams(16, 1024, 1),
  vocabSize: 16,
});

it('a run with an engine, an environment and a monitor of its own learns', async () => {
  const lines: string[] = [];
  const terminal = { isTTY: false, columns: () => 80, write: (text: string) => lines.push(text) };
  const { trainStep } = await train(folder, terminal);
  expect(trainStep).toBe(30);
  const csv = path.join(folder, 'runs/Trinity-RFT/own-parts/monitor/metrics.csv');
  const rewards = readFileSync(csv, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('explorer,') && line.includes(',rollout/reward/mean,'))
    .map((line) => Number(line.split(',').at(-1)));
  expect(rewards).toHaveLength(30);
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  // Guessing gets less than 1 in 12.
  expect(mean(rewards.slice(0, 3))).toBeLessThan(0.3);
  expect(mean(rewards.slice(-5))).toBeGreaterThan(0.5);
}, 60_000);
