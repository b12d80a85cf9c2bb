/** Fetches a language model, shows what it answers, trains it to add, and shows the answers again. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { isUnfinished, run, standardTerminal } from '@trinity-rft/launcher';
import { plotCurve, readCurve } from '@trinity-rft/monitor';
import { fetchModel } from './fetch-model.ts';
import { writeQuestions } from './prepare.ts';
import { showAnswers } from './show-answers.ts';

const configPath = 'smollm2.yaml';
const job = path.join('runs', 'Trinity-RFT', 'smollm2');
const metrics = path.join(job, 'monitor', 'metrics.jsonl');
const seed = Number(process.env['SMOLLM2_SEED'] ?? 1);
const terminal = standardTerminal();
const write = (text: string): void => terminal.write(text);
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
const startMs = performance.now();

await fetchModel({ directory: path.join('runs', 'model'), write });
const fresh = await writeQuestions(path.join('runs', 'data'), { seed, fresh: 200 });
const questions = [...fresh.slice(0, 4).map(({ question }) => question), 'Who are you?'];

// Resumes a run that was interrupted; otherwise starts a new one.
if (!(await isUnfinished(job, 1))) {
  await rm(job, { recursive: true, force: true });
  write('\nbefore training\n');
  await showAnswers({ configPath, trained: false, questions, write });
}

const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());
const summary = await run({
  configPath,
  pluginDirs: ['plugins'],
  terminal,
  signal: interrupt.signal,
});
if (summary.interrupted) {
  write('Interrupted. The same command resumes the run.\n');
  process.exitCode = 130;
} else {
  write('\nafter training\n');
  await showAnswers({ configPath, trained: true, questions, write });
  const curve = (metric: string): Promise<readonly number[]> =>
    readCurve(metrics, { role: 'explorer', metric });
  const rewards = await curve('rollout/reward/mean');
  const title = 'mean reward of each explore step';
  write(`\n${plotCurve(rewards, { title, width: 72, height: 12, yMin: 0, yMax: 1 })}\n\n`);
  const [first, last] = [mean(rewards.slice(0, 5)), mean(rewards.slice(-5))];
  write(`mean reward ${first.toFixed(3)} (first 5 steps) -> ${last.toFixed(3)} (last 5 steps)\n`);
  const accuracy = await curve('eval/fresh/accuracy/mean@1');
  const percent = (share = NaN): string => `${(100 * share).toFixed(1)} %`;
  write(
    `greedy accuracy on ${fresh.length} held-out questions ${percent(accuracy[0])} -> ${percent(accuracy.at(-1))}\n`,
  );
  write(`${((performance.now() - startMs) / 60_000).toFixed(1)} minutes in all\n`);
  write(`model:   ${path.resolve(summary.checkpoint ?? job)}\nmetrics: ${path.resolve(metrics)}\n`);
}
