/** The quickstart: creates a model, trains it to add, and plots its reward. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { isUnfinished, run, standardTerminal } from '@trinity-rft/launcher';
import { plotCurve, readCurve } from '@trinity-rft/monitor';
import { freshCount, prepare } from './prepare.ts';

const job = path.join('runs', 'Trinity-RFT', 'quickstart');
const metrics = path.join(job, 'grpo', 'monitor', 'metrics.jsonl');
const seed = Number(process.env['QUICKSTART_SEED'] ?? 42);

const terminal = standardTerminal();
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

// Resumes a run that was interrupted; otherwise starts a new one.
if (!(await isUnfinished(job, 2))) {
  await rm(job, { recursive: true, force: true });
  await prepare(path.join('runs', 'data'), seed);
}

const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());
const startMs = performance.now();
const summary = await run({ configPath: 'quickstart.yaml', terminal, signal: interrupt.signal });
if (summary.interrupted) {
  terminal.write('Interrupted. The same command resumes the run.\n');
  process.exitCode = 130;
} else {
  const curve = (metric: string): Promise<readonly number[]> =>
    readCurve(metrics, { role: 'explorer', metric });
  const rewards = await curve('rollout/reward/mean');
  const accuracy = await curve('eval/fresh/accuracy/mean@1');
  const title = 'mean reward of each explore step';
  const plot = plotCurve(rewards, { title, width: 72, height: 14, yMin: 0, yMax: 1 });
  const first = mean(rewards.slice(0, 5)).toFixed(3);
  const last = mean(rewards.slice(-10)).toFixed(3);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
  terminal.write(`\n${plot}\n\n`);
  terminal.write(
    `mean reward ${first} (first 5 steps) -> ${last} (last 10 steps) in ${seconds} s\n`,
  );
  const [before, after] = [accuracy[0] ?? NaN, accuracy.at(-1) ?? NaN];
  terminal.write(
    `greedy accuracy on ${freshCount} held-out problems ${before.toFixed(3)} -> ${after.toFixed(3)}\n`,
  );
  terminal.write(`model:   ${path.resolve(summary.checkpoint ?? job)}\n`);
  terminal.write(`metrics: ${path.resolve(metrics)}\n`);
  terminal.write(`curves:  tensorboard --logdir ${path.resolve(job)}\n`);
}
