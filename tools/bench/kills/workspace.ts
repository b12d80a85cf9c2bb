/** A folder with a tiny model and a run of sixty train steps, and what its processes are. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { digitsRun, writeDigitsData } from '../digits-run.ts';

export const project = 'kills';

/** Enough that several disturbances fall into one run. */
const totalSteps = 60;

const configOf = (name: string, storeUrl: string | undefined) => {
  const { buffer, ...shared } = digitsRun({ data: '.', totalSteps, learningRate: 1e-3 });
  const store = { name: 'experiences', storage_type: 'queue' };
  const experienceBuffer = storeUrl === undefined ? store : { ...store, path: storeUrl };
  return {
    ...shared,
    project,
    name,
    buffer: { ...buffer, trainer_input: { experience_buffer: experienceBuffer } },
    explorer: { eval_on_startup: false },
    trainer: { save_interval: 5 },
  };
};

/** An untrained model gets a share of it, so that groups differ and weights move. */
const reward = `import { defineReward } from '@trinity-rft/workflow';
export const digits = defineReward({
  name: 'digits',
  score: ({ response }) => [...response].filter((c) => c >= '0' && c <= '9').length / 4,
});
`;

/** Model, tasks and plugin, which all runs below `root` share. */
export async function prepare(root: string): Promise<void> {
  await writeDigitsData(root);
  mkdirSync(path.join(root, 'plugins'));
  writeFileSync(path.join(root, 'plugins/digits.ts'), reward);
}

export interface RunPlace {
  readonly root: string;
  readonly name: string;
  /** Of a PostgreSQL database. Undefined: `run.db` in the folder of the run. */
  readonly storeUrl: string | undefined;
}

/** Where the run keeps its files. */
export const jobOf = ({ root, name }: RunPlace): string => path.join(root, 'runs', project, name);

/** @returns the configuration's path */
export function writeConfig({ root, name, storeUrl }: RunPlace): string {
  const file = path.join(root, `${name}.yaml`);
  writeFileSync(file, JSON.stringify(configOf(name, storeUrl)));
  return file;
}

export const roles = ['trainer', 'e1', 'e2'] as const;
export type Role = (typeof roles)[number];

export const argsOf = (role: Role): readonly string[] =>
  role === 'trainer' ? ['--mode', 'train'] : ['--mode', 'explore', '--explorer-name', role];
