/** Runs GSM8K, with a small random model unless another one is named, and prints the curves. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { isUnfinished, run, standardTerminal } from '@trinity-rft/launcher';
import { readCurve } from '@trinity-rft/monitor';
import { prepare } from './prepare.ts';

const job = path.join(process.env['TRINITY_CHECKPOINT_ROOT_DIR'] ?? 'runs', 'Trinity-RFT', 'gsm8k');
const terminal = standardTerminal();

// Resumes a run that was interrupted; otherwise starts a new one.
if (!(await isUnfinished(job, 1))) {
  await rm(job, { recursive: true, force: true });
  if (process.env['TRINITY_MODEL_PATH'] === undefined)
    await prepare(path.join('runs', 'model'), ['data/train.jsonl', 'data/test.jsonl'], 42);
}

const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());
const summary = await run({ configPath: 'gsm8k.yaml', terminal, signal: interrupt.signal });
if (summary.interrupted) {
  terminal.write('Interrupted. The same command resumes the run.\n');
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
