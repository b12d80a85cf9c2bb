/** A folder with a tiny model, and a run of six train steps that takes about a second. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { run, type RunSummary } from '../../packages/launcher/src/index.ts';
import { digitsRun } from '../digits/run.ts';

/** Number of train steps of the run. Every second step writes a checkpoint. */
export const totalSteps = 6;

const config = {
  ...digitsRun({ data: '..', totalSteps, learningRate: 1e-2, reward: 'digits' }),
  project: 'faults',
  name: 'run',
  mode: 'both',
  explorer: { max_retry_times: 0, eval_on_startup: false },
  trainer: { save_interval: 2 },
};

export interface Ended {
  readonly summary: RunSummary | undefined;
  readonly error: unknown;
  readonly output: string;
}

/** Folder of the run's files in `folder`. */
export const jobOf = (folder: string): string => path.join(folder, 'runs/faults/run');

/** Starts or resumes the run in `folder`. `onOutput` receives everything that was printed so far. */
export async function train(
  folder: string,
  onOutput: (output: string) => void = () => undefined,
  signal?: AbortSignal,
): Promise<Ended> {
  mkdirSync(folder, { recursive: true });
  const configPath = path.join(folder, 'run.yaml');
  writeFileSync(configPath, JSON.stringify(config));
  let output = '';
  const write = (text: string): void => {
    output += text;
    onOutput(output);
  };
  const terminal = { write, isTTY: false, columns: () => 80 };
  try {
    const summary = await run({ configPath, cwd: folder, env: {}, terminal, signal });
    return { summary, error: undefined, output };
  } catch (error) {
    return { summary: undefined, error, output };
  }
}
