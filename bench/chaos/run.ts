/** Trains in the environment of the chaos tests, and reads the record of the run. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { metricLines, weightsDigest } from '../../apps/runner/test/support/run-record.ts';
import { readExperiences } from '../../packages/buffer/src/index.ts';
import { drivers, type DriverOptions } from '../../packages/environment/test/chaos/drivers.ts';
import { run } from '../../packages/launcher/src/index.ts';
import { digitsRun } from '../digits/run.ts';

const totalSteps = 12;
const project = 'chaos';

/** Trains in the world. Rejects if the run takes more than twenty minutes. */
export async function trainIn(
  root: string,
  name: string,
  driver: string,
  options: DriverOptions,
): Promise<void> {
  const driven = await drivers[driver]?.(options);
  if (driven === undefined) throw new RangeError(`There is no driver ${driver}.`);
  const folder = path.join(root, name);
  mkdirSync(folder, { recursive: true });
  const configPath = path.join(folder, 'run.yaml');
  writeFileSync(configPath, JSON.stringify(configOf(name, driven.definition.name)));
  const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
  try {
    const signal = AbortSignal.timeout(1_200_000);
    await run({
      configPath,
      cwd: folder,
      env: {},
      terminal,
      signal,
      environments: [driven.definition],
    });
  } finally {
    await driven.close();
  }
}

function configOf(name: string, environment: string) {
  const { model, buffer, ...shared } = digitsRun({
    data: '..',
    totalSteps,
    learningRate: 1e-2,
    reward: 'digits',
  });
  return {
    ...shared,
    project,
    name,
    mode: 'both',
    plugins: [],
    model: { ...model, max_prompt_tokens: 100, max_response_tokens: 2 },
    buffer: {
      ...buffer,
      explorer_input: {
        default_workflow_type: 'environment_workflow',
        taskset: {
          name: 'letters',
          storage_type: 'generated',
          task_count: 64,
          task_seed: 1,
          workflow_args: {
            environment,
            action_pattern: '[^]',
            environment_timeout: 5,
            environment_start_timeout: 5,
          },
        },
      },
    },
    explorer: {
      eval_on_startup: false,
      runner_per_model: 16,
      environment_failures: { max_retry_times: 30, max_wait: 900 },
    },
    trainer: { save_interval: totalSteps },
  };
}

export interface RunRecord {
  readonly weights: string;
  /** Tokens and reward of each experience, by id. */
  readonly experiences: ReadonlyMap<string, string>;
  /** Number of attempts that failed because of the environment. */
  readonly failures: number;
}

export function recordOf(root: string, name: string): RunRecord {
  const job = path.join(root, name, 'runs', project, name);
  const experiences = new Map<string, string>();
  const reader = readExperiences(path.join(job, 'buffer/experience_buffer.db'));
  for (const { eid, tokens, reward } of reader.experiences())
    experiences.set(JSON.stringify(eid), `${Array.from(tokens).join(' ')} ${reward}`);
  reader.close();
  const failures = metricLines(job).reduce(
    (sum, { metrics }) => sum + (metrics['rollout/attempts/environment_failed'] ?? 0),
    0,
  );
  return { weights: weightsDigest(job), experiences, failures };
}

/**
 * Compares two records. `falseRewards` counts experiences with other tokens or another reward,
 * additional ones, and missing ones.
 */
export function compare(found: RunRecord, expected: RunRecord) {
  const all = new Set([...found.experiences.keys(), ...expected.experiences.keys()]);
  const differing = [...all].filter(
    (id) => found.experiences.get(id) !== expected.experiences.get(id),
  );
  return { falseRewards: differing.length, sameWeights: found.weights === expected.weights };
}
