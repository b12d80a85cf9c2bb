/** Creates data and model, trains, and plots the reward. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { standardTerminal } from '@trinity-rft/launcher';
import { plotCurve, readCurve } from '@trinity-rft/monitor';
import { DatasetConfig } from '@trinity-rft/tuner';
import { prepare } from './prepare.ts';
import { trainAgent } from './train.ts';

const terminal = standardTerminal();
const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());

await rm('runs', { recursive: true, force: true });
const modelPath = await prepare({
  directory: '.',
  seed: Number(process.env['MATH_AGENT_SEED'] ?? 42),
  terminal,
});
await DatasetConfig({ path: 'my_dataset', split: 'train' }).preview(2);
const { jobDirectory, checkpoint } = await trainAgent({ modelPath, signal: interrupt.signal });

const monitor = path.join(jobDirectory, 'monitor');
const rewards = await readCurve(path.join(monitor, 'metrics.jsonl'), {
  role: 'explorer',
  metric: 'rollout/reward/mean',
});
const title = 'mean reward of each explore step';
const plot = plotCurve(rewards, { title, width: 72, height: 10, yMin: 0, yMax: 1 });
terminal.write(`\n${plot}\n`);
terminal.write(`model:  ${checkpoint}\n`);
terminal.write(`curves: tensorboard --logdir ${path.join(monitor, 'tensorboard')}\n`);
