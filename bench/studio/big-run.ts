/** A run with many metrics over many steps. */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';

const linesAtOnce = 500;

export function writeBigRun(folder: string, metrics: number, steps: number): void {
  mkdirSync(path.join(folder, 'monitor'), { recursive: true });
  const file = openSync(path.join(folder, 'monitor', 'metrics.jsonl'), 'w');
  const names = Array.from({ length: metrics - 2 }, (_, i) => `part_${i % 12}/number_${i}/mean`);
  for (let from = 1; from <= steps; from += linesAtOnce) {
    const count = Math.min(linesAtOnce, steps - from + 1);
    writeSync(file, Array.from({ length: count }, (_, i) => line(from + i, names)).join(''));
  }
  closeSync(file);
}

function line(step: number, names: readonly string[]): string {
  const metrics: Record<string, number> = {
    'rollout/reward/mean': Math.tanh(step / 5e4) + Math.random() / 5,
    'rollout/model_version': step - 1,
  };
  for (const name of names) metrics[name] = Math.random();
  const timing = { 'time/wait_explore_step': 1 };
  return `${JSON.stringify({ role: 'explorer', step, metrics, timing })}\n`;
}
