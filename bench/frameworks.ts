/**
 * `pnpm bench frameworks [NAME...]`: the whole training of the example with the agents of other
 * frameworks. Agents that are programs only run when they are named.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readCurve } from '../packages/monitor/src/index.ts';
import { frameworks, programs, runFramework } from '../examples/react-calculator/src/frameworks.ts';
import { prepare } from '../examples/react-calculator/src/prepare.ts';

const names =
  process.argv.length > 2
    ? process.argv.slice(2)
    : frameworks.filter((name) => !programs.has(name));
const directory = await mkdtemp(path.join(tmpdir(), 'trinity-frameworks-'));
const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };

/** Formats the mean of some values with three decimals. */
const mean = (values: readonly number[]): string =>
  (values.reduce((sum, value) => sum + value, 0) / values.length).toFixed(3);

console.log('framework        reward from -> to   tool calls from -> to   fork   wall s');
try {
  await prepare(path.join(directory, 'runs', 'data'), 42);
  for (const framework of names) {
    const startMs = performance.now();
    const { jobDirectory } = await runFramework({
      framework,
      directory,
      name: framework,
      terminal,
    });
    const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
    const curve = (metric: string): Promise<readonly number[]> =>
      readCurve(path.join(jobDirectory, 'grpo', 'monitor', 'metrics.jsonl'), {
        role: 'explorer',
        metric,
      });
    const [reward = [], tools = [], calls = [], spliced = []] = await Promise.all(
      ['reward', 'model/tool_calls', 'model/calls', 'model/spliced'].map((name) =>
        curve(`rollout/${name}/mean`),
      ),
    );
    const forks = calls.reduce((sum, count, i) => sum + count - 1 - (spliced[i] ?? 0), 0);
    const change = (values: readonly number[]): string =>
      `${mean(values.slice(0, 5))} -> ${mean(values.slice(-5))}`;
    console.log(
      `${framework.padEnd(16)} ${change(reward).padEnd(19)} ${change(tools).padEnd(23)} ${forks.toFixed(2).padEnd(6)} ${seconds}`,
    );
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
