/** The quickstart: makes a model, has it learn to add, and shows how its reward rose. */
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { run, type Terminal } from '@trinity-rft/launcher';
import { plotCurve } from '@trinity-rft/monitor';
import { prepare } from './prepare.ts';

const runs = 'runs';
const job = path.join(runs, 'Trinity-RFT', 'quickstart');
const seed = Number(process.env['QUICKSTART_SEED'] ?? 42);

const terminal: Terminal = {
  write: (text) => void process.stdout.write(text),
  isTTY: process.stdout.isTTY === true,
  columns: () => process.stdout.columns ?? 80,
};

/** Rewards of the explore steps, in order. */
async function rewardCurve(): Promise<number[]> {
  const lines = (await readFile(path.join(job, 'grpo', 'monitor', 'metrics.jsonl'), 'utf8')).trim().split('\n');
  const records = lines.map((line) => JSON.parse(line) as { role: string; metrics: Record<string, number> });
  return records.filter(({ role }) => role === 'explorer').flatMap(({ metrics }) => metrics['rollout/reward/mean'] ?? []);
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

// A run that was finished starts anew; one that was interrupted goes on.
const progress = await readFile(path.join(job, 'stage_meta.json'), 'utf8').catch(() => '');
if (progress.includes('2')) await rm(job, { recursive: true });
if (progress === '' || progress.includes('2')) await prepare(path.join(runs, 'data'), seed);

const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());
const begun = performance.now();
const summary = await run({ configPath: 'quickstart.yaml', terminal, signal: interrupt.signal });
if (summary.interrupted) {
  terminal.write('Interrupted; the same command goes on from here.\n');
  process.exitCode = 130;
} else {
  const rewards = await rewardCurve();
  const first = mean(rewards.slice(0, 5));
  const last = mean(rewards.slice(-10));
  terminal.write(`\n${plotCurve(rewards, { title: 'mean reward of each explore step', width: 72, height: 14, yMin: 0, yMax: 1 })}\n`);
  terminal.write(
    `\nmean reward ${first.toFixed(3)} (first 5 steps) -> ${last.toFixed(3)} (last 10 steps) in ${((performance.now() - begun) / 1000).toFixed(0)} s\n`,
  );
  terminal.write(
    `model:   ${path.resolve(summary.checkpoint ?? job)}\nmetrics: ${path.resolve(job, 'grpo', 'monitor', 'metrics.jsonl')}\ncurves:  tensorboard --logdir ${path.resolve(job)}\n`,
  );
}
