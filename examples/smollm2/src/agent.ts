/** Fetches a language model, and trains an agent of the Vercel AI SDK to call its tool. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { isUnfinished, run, standardTerminal } from '@trinity-rft/launcher';
import { plotCurve, readCurve } from '@trinity-rft/monitor';
import { fetchModel } from './fetch-model.ts';
import { writeQuestions } from './prepare.ts';

const job = path.join('runs', 'Trinity-RFT', 'smollm2-agent');
const metrics = path.join(job, 'grpo', 'monitor', 'metrics.jsonl');
const seed = Number(process.env['SMOLLM2_SEED'] ?? 1);
const terminal = standardTerminal();
const write = (text: string): void => terminal.write(text);
const startMs = performance.now();

await fetchModel({ directory: path.join('runs', 'model'), write });
const fresh = await writeQuestions(path.join('runs', 'data'), { seed, fresh: 64 });

// Resumes a run that was interrupted; otherwise starts a new one.
if (!(await isUnfinished(job, 2))) await rm(job, { recursive: true, force: true });

const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());
const summary = await run({
  configPath: path.join('agent', 'agent.yaml'),
  pluginDirs: [path.join('agent', 'plugins')],
  terminal,
  signal: interrupt.signal,
});
if (summary.interrupted) {
  write('Interrupted. The same command resumes the run.\n');
  process.exitCode = 130;
} else {
  for (const [title, metric] of [
    ['tool calls per run', 'rollout/model/tool_calls/mean'],
    ['mean reward', 'rollout/reward/mean'],
  ] as const) {
    const values = await readCurve(metrics, { role: 'explorer', metric });
    const plot = plotCurve(values, { title, width: 72, height: 10, yMin: 0, yMax: 1 });
    write(`\n${plot}\n${title} ${values[0]?.toFixed(3)} -> ${values.at(-1)?.toFixed(3)}\n`);
  }
  const accuracy = await readCurve(metrics, {
    role: 'explorer',
    metric: 'eval/fresh/accuracy/mean@1',
  });
  const percent = (share = NaN): string => `${(100 * share).toFixed(1)} %`;
  write(
    `\ngreedy accuracy on ${fresh.length} held-out questions ${percent(accuracy[0])} -> ${percent(accuracy.at(-1))}\n`,
  );
  write(`${((performance.now() - startMs) / 60_000).toFixed(1)} minutes in all\n`);
  write(`model:   ${path.resolve(summary.checkpoint ?? job)}\nmetrics: ${path.resolve(metrics)}\n`);
}
