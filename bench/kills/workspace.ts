/** A folder with a tiny model and a run of forty train steps, and its processes. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { digitsRun } from '../digits/run.ts';

export const project = 'kills';

/** Number of train steps, large enough for several disturbances in one run. */
export const totalSteps = 40;

export interface RunPlace {
  readonly root: string;
  readonly name: string;
  /** URL of a PostgreSQL database; undefined for an SQLite file. */
  readonly postgresUrl: string | undefined;
  /** Changes the configuration. @default unchanged */
  readonly change?: (sections: Sections) => object;
}

export type Sections = ReturnType<typeof sectionsOf>;

export const storeUrlOf = ({ root, name, postgresUrl }: RunPlace): string =>
  postgresUrl ?? `sqlite:///${path.join(root, `${name}.db`)}`;

/** Checkpoint folder of a trainer. A trainer that replaces a silent one has its own folder, as on another machine. */
const checkpointsOf = (trainer: number): string => `machine-${trainer}`;

/** Folder of a run's files. @param trainer number of the trainer, from 1 */
export const jobOf = ({ root, name }: RunPlace, trainer: number): string =>
  path.join(root, checkpointsOf(trainer), project, name);

function sectionsOf(place: RunPlace, trainer: number) {
  const { buffer, ...shared } = digitsRun({
    data: '.',
    totalSteps,
    learningRate: 1e-3,
    reward: 'slow_digits',
  });
  const path = storeUrlOf(place);
  const experienceBuffer = { name: 'experiences', storage_type: 'queue', path };
  return {
    ...shared,
    checkpoint_root_dir: checkpointsOf(trainer),
    project,
    name: place.name,
    buffer: { ...buffer, trainer_input: { experience_buffer: experienceBuffer } },
    explorer: { eval_on_startup: false },
    trainer: { save_interval: 5 },
  };
}

/** Writes the configuration with the folder of the trainer. @returns its path */
export function writeConfig(place: RunPlace, trainer: number): string {
  const file = path.join(place.root, `${place.name}-${trainer}.yaml`);
  const sections = sectionsOf(place, trainer);
  writeFileSync(file, JSON.stringify(place.change?.(sections) ?? sections));
  return file;
}

export type Role = 'trainer' | 'e1' | 'e2' | 'e3';

export const argsOf = (role: Role): readonly string[] =>
  role === 'trainer' ? ['--mode', 'train'] : ['--mode', 'explore', '--explorer-name', role];
