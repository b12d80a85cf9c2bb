/** The whole tree: the top level, and the stages that may override any section of it. */
import { z } from 'zod';
import { builtInTables, type AlgorithmTables } from '@trinity-rft/algorithm';
import { algorithmSection } from './algorithm.js';
import { buffer } from './buffer.js';
import { model } from './model.js';
import {
  cluster,
  cod,
  dataProcessor,
  explorer,
  log,
  monitor,
  service,
  synchronizer,
} from './runtime.js';
import { field, filledIn, flag, int, oneOf, text, word } from './scalars.js';
import { trainer } from './trainer.js';

const modes = ['both', 'explore', 'train', 'bench', 'serve', 'colocate'] as const;

const stageMode = oneOf(modes);

const otherSections = {
  data_processor: dataProcessor,
  model,
  buffer,
  explorer,
  trainer,
  synchronizer,
  monitor,
  log,
  cluster,
  service,
  cod,
};

const runKeys = {
  mode: field(
    stageMode,
    'both',
    'both: explore and train; train: stored experiences; bench: evaluate checkpoints; serve: answer a running product and train on its feedback.',
  ),
  project: field(word(), 'Trinity-RFT', 'First part of the path of the run.'),
  group: field(text(), '', 'Further part of the path of the run.'),
  name: field(word(), 'rft', 'Name of the run.'),
  checkpoint_root_dir: field(
    text(),
    '',
    'Folder of all runs. Default: checkpoints in the working directory.',
  ),
  checkpoint_job_dir: filledIn(),
  ray_namespace: filledIn(),
  continue_from_checkpoint: field(
    flag(),
    true,
    'Continue the run when its folder has content; false: a new folder with the time in its name.',
  ),
  ignore_validator_suggestions: field(flag(), false, 'Skip the check of GPU memory.'),
  seed: field(
    int({ min: 0, max: 4294967295 }),
    42,
    'Extension. Root of all randomness of the run.',
  ),
};

/** The schemas for the algorithms of some tables. */
export interface ConfigSchemas {
  readonly file: ReturnType<typeof fileOf>;
  /** What one stage means after it was laid over the top level. */
  readonly run: ReturnType<typeof runOf>;
}

const runOf = (tables: AlgorithmTables) =>
  z.strictObject({ ...runKeys, algorithm: algorithmSection(tables), ...otherSections });
export type RunInput = z.output<ReturnType<typeof runOf>>;

function fileOf(tables: AlgorithmTables) {
  const algorithm = algorithmSection(tables);
  const partialSections = Object.fromEntries(
    Object.entries({ algorithm, ...otherSections }).map(([name, schema]) => [
      name,
      z.optional((schema as z.ZodPrefault).unwrap()),
    ]),
  );
  const stage = z.strictObject({
    // Required, and missed when stages are named: without it the rest of the stage can still be
    // checked.
    stage_name: word()
      .optional()
      .describe('Name of the stage; it becomes a folder inside the run.'),
    mode: stageMode.nullish(),
    ...partialSections,
  });
  return z.strictObject({
    ...runKeys,
    algorithm,
    ...otherSections,
    stages: z
      .array(stage)
      .default([])
      .describe(
        'Stages in their order. Each inherits what it does not set from the top level, key by key.',
      ),
  });
}

const made = new WeakMap<AlgorithmTables, ConfigSchemas>();

export function schemasOf(tables: AlgorithmTables): ConfigSchemas {
  const known = made.get(tables) ?? { file: fileOf(tables), run: runOf(tables) };
  made.set(tables, known);
  return known;
}

/** For the algorithms that are built in. */
export const { file: fileSchema, run: runSchema } = schemasOf(builtInTables);
