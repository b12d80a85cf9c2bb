/** Schema of the whole file: the top level, and the stages that can override its sections. */
import type { AlgorithmTables } from '@trinity-rft/algorithm';
import { z } from 'zod';
import { algorithmSection } from './algorithm.js';
import { buffer } from './buffer.js';
import type { EngineFactsTable } from './engines.js';
import { explorerSection } from './explorer.js';
import { field, filledIn, ignored } from './fields.js';
import { model } from './model.js';
import {
  cluster,
  cod,
  dataProcessorSection,
  log,
  monitor,
  service,
  synchronizer,
} from './runtime.js';
import { flag, int, oneOf, text, word } from './scalars.js';
import { trainerSection } from './trainer.js';

/** The algorithms and engines that a file can name. */
export interface Vocabulary {
  readonly algorithms: AlgorithmTables;
  readonly engines: EngineFactsTable;
}

const modes = ['both', 'explore', 'train', 'bench', 'serve', 'colocate'] as const;

const stageMode = oneOf(modes);

const sectionsOf = ({ algorithms, engines }: Vocabulary) => ({
  algorithm: algorithmSection(algorithms),
  data_processor: dataProcessorSection(algorithms),
  model,
  buffer,
  explorer: explorerSection(engines),
  trainer: trainerSection(engines),
  synchronizer,
  monitor,
  log,
  cluster,
  service,
  cod,
});

const runKeys = {
  mode: field(
    stageMode,
    'both',
    'both: explore and train; explore, train: one side of it, each in a process of its own; train also trains on stored experiences; bench: evaluate checkpoints; serve: answer a running product and train on its feedback.',
    ignored('It means both: explorer and trainer share one process.', {
      values: ['colocate'],
    }),
  ),
  project: field(word(), 'Trinity-RFT', 'First part of the path of the run.'),
  group: field(text(), '', 'Further part of the path of the run.'),
  name: field(word(), 'rft', 'Name of the run.'),
  checkpoint_root_dir: field(
    text(),
    '',
    'Folder of all runs. Default: checkpoints in the working directory.',
  ),
  plugins: field(
    z.array(text()),
    [],
    'Extension. npm packages, directories or modules that export workflows, reward functions, task operators and algorithms. Packages are looked for in the node_modules of the working directory and of this file.',
  ),
  checkpoint_job_dir: filledIn(),
  ray_namespace: filledIn(),
  continue_from_checkpoint: field(
    flag(),
    true,
    'Continue the run when its folder has content; false: a new folder with the time in its name. Evaluations, explorers and commands that read a run then take the newest of these.',
  ),
  ignore_validator_suggestions: field(
    flag(),
    false,
    'Skip the check of GPU memory.',
    ignored('There is no check of GPU memory.'),
  ),
  seed: field(
    int({ min: 0, max: 4294967295 }),
    42,
    'Extension. Root of all randomness of the run.',
  ),
};

/** The schemas of a file and of a stage, for a vocabulary. */
export interface ConfigSchemas {
  readonly file: ReturnType<typeof fileOf>;
  /** Schema of one stage after merging it with the top level. */
  readonly run: RunSchema;
}

type Sections = ReturnType<typeof sectionsOf>;

const runOf = (sections: Sections) => z.strictObject({ ...runKeys, ...sections });
export type RunSchema = ReturnType<typeof runOf>;
export type RunInput = z.output<RunSchema>;

function fileOf(sections: Sections) {
  const partialSections = Object.fromEntries(
    Object.entries(sections).map(([name, schema]) => [
      name,
      z.optional((schema as z.ZodPrefault).unwrap()),
    ]),
  );
  const stage = z.strictObject({
    // The name is required. It is optional in the schema and checked later, so that the rest of a
    // stage without a name is checked too.
    stage_name: word()
      .optional()
      .describe('Name of the stage; it becomes a folder inside the run.'),
    mode: stageMode.nullish(),
    ...partialSections,
  });
  return z.strictObject({
    ...runKeys,
    ...sections,
    stages: z
      .array(stage)
      .default([])
      .describe(
        'Stages in their order. Each inherits what it does not set from the top level, key by key.',
      ),
  });
}

const cache = new WeakMap<AlgorithmTables, WeakMap<EngineFactsTable, ConfigSchemas>>();

export function schemasOf(vocabulary: Vocabulary): ConfigSchemas {
  const { algorithms, engines } = vocabulary;
  const ofTables = cache.get(algorithms) ?? new WeakMap<EngineFactsTable, ConfigSchemas>();
  cache.set(algorithms, ofTables);
  const known = ofTables.get(engines);
  if (known !== undefined) return known;
  const sections = sectionsOf(vocabulary);
  const schemas = { file: fileOf(sections), run: runOf(sections) };
  ofTables.set(engines, schemas);
  return schemas;
}
