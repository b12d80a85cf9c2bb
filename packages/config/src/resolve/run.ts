/** One run from its stages: folders, names, and every section of every stage. */
import { join } from 'node:path';
import type { Mode, ResolvedConfig, StageConfig } from './base/resolved.js';
import { deriveAlgorithm } from './algorithm/algorithm.js';
import { deriveEngine } from './algorithm/engine.js';
import { deriveBuffer } from './buffer/buffer.js';
import type { StageContext } from './base/context.js';
import { resolveSection } from '../schema/resolve-section.js';
import { deriveExplorer, deriveTrainer } from './loop.js';
import { deriveModel } from './model/model.js';
import { deriveOperators } from './algorithm/operators.js';
import { checkName, unfitName } from './base/paths.js';
import { checkSampling } from './buffer/sample-strategy.js';
import { checkDistribution } from './sampling-distribution.js';
import { checkTeacher } from './teacher.js';
import { placeOf } from '../source/node.js';

type Stages = readonly [StageContext, ...StageContext[]];

/** `timestamp`: suffix of the name of a run that must not continue what is in its folder. */
export function deriveRun(stages: Stages, timestamp: string | undefined): ResolvedConfig {
  const [first] = stages;
  checkStageNames(stages);
  const identity = deriveIdentity(
    first,
    stages.every(({ input }) => input.mode === 'bench'),
    timestamp,
  );
  const [head, ...tail] = stages.map((stage) => deriveStage(stage, identity));
  return { ...identity, stages: [head as StageConfig, ...tail] };
}

type Identity = Omit<ResolvedConfig, 'stages'>;

function deriveIdentity(
  context: StageContext,
  isBench: boolean,
  timestamp: string | undefined,
): Identity {
  const {
    project,
    group,
    name,
    seed,
    checkpoint_root_dir: root,
    continue_from_checkpoint: continues,
  } = context.input;
  for (const [key, value] of Object.entries({ project, group, name }))
    checkName(context, [key], value);
  const checkpointRootDir = context.disk.resolve(root === '' ? 'checkpoints' : root);
  if (context.disk.kind(checkpointRootDir) === 'file')
    context.report(
      ['checkpoint_root_dir'],
      `got "${root}", which is a file. Give a folder; it is made when it does not exist.`,
    );
  const folder = join(checkpointRootDir, project, group, name);
  const inUse = context.disk.kind(folder) === 'folder' && !context.disk.isEmptyFolder(folder);
  const resume = inUse && (continues || isBench);
  if (isBench && !continues)
    context.warn(
      ['continue_from_checkpoint'],
      'ignored. Mode bench evaluates the checkpoints of the run.',
    );
  if (inUse && !resume && timestamp === undefined)
    context.warn(
      ['continue_from_checkpoint'],
      `${folder} has content; the run gets a name with the time in it.`,
    );
  const ownName = inUse && !resume && timestamp !== undefined ? `${name}_${timestamp}` : name;
  return {
    project,
    group,
    name: ownName,
    checkpointRootDir,
    jobDirectory: join(checkpointRootDir, project, group, ownName),
    resume,
    seed,
  };
}

function checkStageNames(stages: Stages): void {
  const seen = new Set<string>();
  for (const { stageName, item, add } of stages) {
    if (stageName === undefined || item === undefined) continue;
    const { at, path, node } = placeOf(item, ['stage_name']);
    const message =
      node === undefined
        ? 'is missing. Name the stage, for example sft_warmup; the name becomes a folder inside the run.'
        : seen.has(stageName)
          ? `got "${stageName}", which an earlier stage has already. Names must differ: each stage has a folder of its own.`
          : unfitName(stageName);
    if (message !== undefined) add([{ at, key: path, message }]);
    seen.add(stageName);
  }
}

function deriveStage(context: StageContext, identity: Identity): StageConfig {
  const { stageName, stageIndex, input, sections } = context;
  const jobDirectory =
    stageName === undefined ? identity.jobDirectory : join(identity.jobDirectory, stageName);
  const engine = deriveEngine(context);
  const { model, rolloutModel, auxiliaryModels } = deriveModel(context, engine);
  const algorithm = deriveAlgorithm(context, model, engine);
  const buffer = deriveBuffer(context, { model, algorithm, jobDirectory });
  checkSampling(context, algorithm);
  checkDistribution(context, algorithm, { buffer, rolloutModel });
  checkTeacher(context, algorithm, auxiliaryModels);
  return {
    stageName,
    stageIndex,
    // Other modes are refused by the status table; colocate is both.
    mode: (input.mode === 'colocate' ? 'both' : input.mode) as Mode,
    project: identity.project,
    group: identity.group,
    name: stageName === undefined ? identity.name : `${identity.name}/${stageName}`,
    seed: identity.seed,
    engine,
    jobDirectory,
    algorithm,
    model,
    buffer,
    explorer: deriveExplorer(
      context,
      { rolloutModel, auxiliaryModels },
      buffer,
      algorithm.repeatTimes,
    ),
    trainer: deriveTrainer(context, algorithm.optimizer),
    dataProcessor: { experiencePipeline: { operators: deriveOperators(context) } },
    synchronizer: resolveSection(sections.synchronizer, input.synchronizer),
    monitor: {
      ...resolveSection(sections.monitor, input.monitor),
      directory: join(jobDirectory, 'monitor'),
    },
    log: { ...resolveSection(sections.log, input.log), directory: join(jobDirectory, 'log') },
  };
}
