/** Resolves one training run from its stages: folders, names, and every section of every stage. */
import { basename, dirname, join } from 'node:path';
import { resolveSection } from '../schema/resolve-section.js';
import { placeOf } from '../source/node.js';
import { checkNeeds } from './algorithm/algorithm-needs.js';
import { deriveAlgorithm } from './algorithm/algorithm.js';
import { checkEngine, deriveCriticEngine, deriveEngine } from './algorithm/engine.js';
import { deriveOperators } from './algorithm/operators.js';
import { checkSchedules, deriveCritic } from './algorithm/optimizer.js';
import type { StageContext } from './base/context.js';
import { checkName, invalidFolder, reportAddress } from './base/paths.js';
import type { ResolvedConfig, StageConfig } from './base/resolved.js';
import { mapStages } from './base/stages.js';
import { deriveBuffer } from './buffer/buffer.js';
import { deriveTaskPipeline } from './buffer/task-pipeline.js';
import { deriveSynchronizer, stalenessBoundOf } from './synchronizer.js';
import { sayUnread } from './unread.js';
import { checkSampling } from './buffer/sample-strategy.js';
import { deriveExplorer } from './explorer.js';
import { deriveExternal } from './external.js';
import { deriveModel } from './model/model.js';
import { deriveSampler } from './model/sampler.js';
import { deriveMonitorArgs } from './monitor.js';
import { asPart, deriveRunStore } from './part.js';
import { checkDistribution } from './sampling-distribution.js';
import { checkSamplingLimits } from './sampling-limits.js';

type Stages = readonly [StageContext, ...StageContext[]];

/** Choice of the training run's name; see `ParseConfigOptions`. */
interface NameChoice {
  readonly timestamp?: string | undefined;
  readonly runName?: string | undefined;
}

/** Resolves a training run with all its stages. */
export function deriveRun(stages: Stages, choice: NameChoice): ResolvedConfig {
  const [first] = stages;
  checkStageNames(stages);
  const identity = deriveIdentity(
    first,
    stages.every(({ input }) => input.mode === 'bench' || input.mode === 'explore'),
    choice,
  );
  const { plugins } = first.input;
  const derived = mapStages(stages, (stage, previous) => deriveStage(stage, identity, previous));
  return { ...identity, plugins, stages: derived };
}

/** Values that all stages of a training run share. */
type Identity = Omit<ResolvedConfig, 'stages' | 'plugins'>;

function deriveIdentity(context: StageContext, isGuest: boolean, choice: NameChoice): Identity {
  const { project, group, name, seed, continue_from_checkpoint: continues } = context.input;
  for (const [key, value] of Object.entries({ project, group, name }))
    checkName(context, [key], value);
  const checkpointRootDir = deriveRoot(context);
  const folderOf = (run: string): string => join(checkpointRootDir, project, group, run);
  const isUsed = (run: string): boolean =>
    context.disk.kind(folderOf(run)) === 'folder' && !context.disk.isEmptyFolder(folderOf(run));
  if (isGuest && !continues)
    context.warn(
      ['continue_from_checkpoint'],
      'ignored. Modes bench and explore use the newest run of this name.',
    );
  const { timestamp, runName } = choice;
  const beside = (): readonly string[] => context.disk.names(dirname(folderOf(name)));
  const newest = continues ? undefined : newestRun(name, beside(), isUsed);
  const isNew = newest !== undefined && !isGuest && timestamp !== undefined;
  const ownName = runName ?? (isNew ? `${name}_${timestamp}` : (newest ?? name));
  return {
    project,
    group,
    name: ownName,
    checkpointRootDir,
    jobDirectory: folderOf(ownName),
    resume: isUsed(ownName),
    continues: continues || isGuest,
    seed,
  };
}

/**
 * Returns the name of the newest training run that is called `name`, with or without a timestamp,
 * or undefined if there is none.
 */
function newestRun(
  name: string,
  names: readonly string[],
  isUsed: (run: string) => boolean,
): string | undefined {
  const last = basename(name);
  const runs = names
    .filter((each) => each.startsWith(last) && /^(_\d{14})?$/.test(each.slice(last.length)))
    .map((each) => `${name}${each.slice(last.length)}`);
  // The run without a timestamp is the oldest, and comes first.
  return runs.filter(isUsed).toSorted().at(-1);
}

function deriveRoot(context: StageContext): string {
  const { checkpoint_root_dir: given } = context.input;
  const isAddress = reportAddress(context, ['checkpoint_root_dir'], given);
  const root = context.disk.resolve(given === '' || isAddress ? 'checkpoints' : given);
  if (context.disk.kind(root) === 'file')
    context.report(
      ['checkpoint_root_dir'],
      `got "${given}", which is a file. Give a folder; it is created when it does not exist.`,
    );
  return root;
}

/**
 * Subfolders of a training run in which evaluations and servers write, so stages must not have
 * these names. Must contain the same names as `guestFolders` in the launcher.
 */
const takenFolders: readonly string[] = ['evaluations', 'serve'];

const takenFolder = (name: string): string | undefined =>
  takenFolders.includes(name.toLowerCase())
    ? `got "${name}", which is a folder of every run. Use another name.`
    : undefined;

function checkStageNames(stages: Stages): void {
  const seen = new Set<string>();
  for (const { stageName, item, add } of stages) {
    if (stageName === undefined || item === undefined) continue;
    const { at, path, node } = placeOf(item, ['stage_name']);
    const message =
      node === undefined
        ? 'is missing. Name the stage, for example sft_warmup; the name becomes a folder inside the run.'
        : seen.has(stageName)
          ? `got "${stageName}", which an earlier stage already uses. Names must differ, because each stage has its own folder.`
          : (invalidFolder(stageName) ?? takenFolder(stageName));
    if (message !== undefined) add([{ at, key: path, message }]);
    seen.add(stageName);
  }
}

function deriveStage(
  given: StageContext,
  identity: Identity,
  previous: StageConfig | undefined,
): StageConfig {
  const { stageName, stageIndex, input, sections } = given;
  const { project, group, seed } = identity;
  const jobDirectory =
    stageName === undefined ? identity.jobDirectory : join(identity.jobDirectory, stageName);
  const engine = deriveEngine(given);
  const { model, rolloutModel, auxiliaryModels } = deriveModel(given, engine, previous?.model);
  const algorithm = deriveAlgorithm(given, model, engine);
  const context = asPart(given, { jobDirectory, algorithm });
  const taskPipeline = deriveTaskPipeline(context, auxiliaryModels);
  sayUnread(context, algorithm);
  const synchronizer = deriveSynchronizer(context);
  const needs = {
    model,
    rolloutModel,
    algorithm,
    auxiliaryModels,
    jobDirectory,
    taskPipeline,
    synchronizer,
    stalenessBound: stalenessBoundOf(synchronizer),
  };
  const buffer = deriveBuffer(context, needs);
  checkNeeds(context, algorithm, auxiliaryModels);
  const external = deriveExternal(context, algorithm);
  const sampler = external ? undefined : deriveSampler(context);
  checkEngine(context, { engine, algorithm, model, sampler });
  checkSampling(context, algorithm, { synchronizer, trainBatch: buffer.trainBatch });
  const critic = deriveCritic(context, {
    engine: deriveCriticEngine(context, engine),
    policy: algorithm.optimizer,
  });
  const { valueHead } = algorithm.needs;
  const { optimizer } = algorithm;
  checkSchedules(context, buffer.trainBatch, optimizer, valueHead ? critic.optimizer : undefined);
  checkDistribution(context, algorithm, { buffer, rolloutModel });
  checkSamplingLimits(context, { engine, algorithm, buffer, rolloutModel, sampler });
  const operators = deriveOperators(context, model, algorithm);
  return {
    stageName,
    stageIndex,
    mode: context.mode,
    part: context.part,
    runStore: deriveRunStore(context, jobDirectory),
    project,
    group,
    name: stageName === undefined ? identity.name : `${identity.name}/${stageName}`,
    seed,
    engine,
    sampler,
    external,
    jobDirectory,
    algorithm,
    model,
    buffer,
    explorer: deriveExplorer(context, {
      models: { rolloutModel, auxiliaryModels },
      buffer,
      algorithm,
      operators,
    }),
    trainer: {
      ...resolveSection(sections.trainer, input.trainer),
      critic,
    },
    dataProcessor: { experiencePipeline: { operators }, taskPipeline },
    synchronizer,
    cluster: resolveSection(sections.cluster, input.cluster),
    monitor: {
      ...resolveSection(sections.monitor, input.monitor),
      args: deriveMonitorArgs(context),
      directory: join(jobDirectory, 'monitor'),
    },
    log: { ...resolveSection(sections.log, input.log), directory: join(jobDirectory, 'log') },
  };
}
