/** Makes a model, warms it up, and trains it with the algorithm of plugins/. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { run, standardTerminal } from '@trinity-rft/launcher';
import { plotCurve, readCurve } from '@trinity-rft/monitor';
import { prepare } from './prepare.ts';

const job = path.join('runs', 'Trinity-RFT', 'custom-algorithm');
const terminal = standardTerminal();
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

await rm(job, { recursive: true, force: true });
await prepare(path.join('runs', 'data'), 42);
const plugins = path.join(import.meta.dirname, '..', 'plugins');
await run({ configPath: 'custom-algorithm.yaml', pluginDirs: [plugins], terminal });

const metrics = path.join(job, 'rl', 'monitor', 'metrics.jsonl');
const rewards = await readCurve(metrics, { role: 'explorer', metric: 'rollout/reward/mean' });
terminal.write(
  `\n${plotCurve(rewards, { title: 'mean reward of each explore step', width: 72, height: 12, yMin: 0, yMax: 1 })}\n`,
);
terminal.write(
  `\nmean reward ${mean(rewards.slice(0, 5)).toFixed(3)} (first 5 steps) -> ${mean(rewards.slice(-5)).toFixed(3)} (last 5 steps)\n`,
);
