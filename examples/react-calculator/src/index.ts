/** Creates a model, trains an agent to use its calculator, and plots reward and tool calls. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { isUnfinished, run, standardTerminal } from '@trinity-rft/launcher';
import { plotCurve, readCurve } from '@trinity-rft/monitor';
import { prepare } from './prepare.ts';

const job = path.join('runs', 'Trinity-RFT', 'react-calculator');
const metrics = path.join(job, 'grpo', 'monitor', 'metrics.jsonl');
const seed = Number(process.env['REACT_CALCULATOR_SEED'] ?? 42);
const terminal = standardTerminal();

/** Plots a metric of the explore steps, and prints its first and last mean. */
async function showCurve(title: string, metric: string): Promise<void> {
  const values = await readCurve(metrics, { role: 'explorer', metric });
  const mean = (part: readonly number[]): string =>
    (part.reduce((sum, value) => sum + value, 0) / part.length).toFixed(3);
  const plot = plotCurve(values, {
    title: `${title} of each explore step`,
    width: 72,
    height: 10,
    yMin: 0,
    yMax: 1,
  });
  const [first, last] = [mean(values.slice(0, 5)), mean(values.slice(-5))];
  terminal.write(`\n${plot}\n${title} ${first} (first 5 steps) -> ${last} (last 5 steps)\n`);
}

// Resumes a run that was interrupted; otherwise starts a new one.
if (!(await isUnfinished(job, 2))) {
  await rm(job, { recursive: true, force: true });
  await prepare(path.join('runs', 'data'), seed);
}

const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());
const startMs = performance.now();
const summary = await run({
  configPath: 'react-calculator.yaml',
  pluginDirs: ['plugins'],
  terminal,
  signal: interrupt.signal,
});
if (summary.interrupted) {
  terminal.write('Interrupted. The same command resumes the run.\n');
  process.exitCode = 130;
} else {
  await showCurve('tool calls per run', 'rollout/tool_calls/mean');
  await showCurve('mean reward', 'rollout/reward/mean');
  const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
  terminal.write(`\n${summary.trainStep} train steps in ${seconds} s\n`);
  terminal.write(`model:   ${summary.checkpoint}\n`);
  terminal.write(`metrics: ${path.resolve(metrics)}\n`);
  terminal.write(`curves:  tensorboard --logdir ${path.resolve(job)}\n`);
}
