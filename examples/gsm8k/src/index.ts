/** Runs GSM8K: makes the small random model where no other is named, and sums the run up. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { isUnfinished, run, standardTerminal } from '@trinity-rft/launcher';
import { readCurve } from '@trinity-rft/monitor';
import { prepare } from './prepare.ts';

const job = path.join(process.env['TRINITY_CHECKPOINT_ROOT_DIR'] ?? 'runs', 'Trinity-RFT', 'gsm8k');
const terminal = standardTerminal();

// A run that was interrupted goes on; after one that has ended, a new one begins.
if (!(await isUnfinished(job, 1))) {
  await rm(job, { recursive: true, force: true });
  if (process.env['TRINITY_MODEL_PATH'] === undefined)
    await prepare(path.join('runs', 'model'), ['data/train.jsonl', 'data/test.jsonl'], 42);
}

const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());
const summary = await run({ configPath: 'gsm8k.yaml', terminal, signal: interrupt.signal });
if (summary.interrupted) {
  terminal.write('Interrupted; the same command goes on from here.\n');
  process.exitCode = 130;
} else {
  const metrics = path.join(summary.jobDirectory, 'monitor', 'metrics.jsonl');
  for (const [title, metric] of [
    ['reward on the test tasks', 'eval/gsm8k_test/reward/mean@1'],
    ['accuracy on the test tasks', 'eval/gsm8k_test/accuracy/mean@1'],
    ['reward of each explore step', 'rollout/reward/mean'],
  ] as const) {
    const values = await readCurve(metrics, { role: 'explorer', metric });
    terminal.write(`${title}: ${values.map((value) => value.toFixed(3)).join(' -> ')}\n`);
  }
  terminal.write(`model:   ${summary.checkpoint}\nmetrics: ${metrics}\n`);
}
