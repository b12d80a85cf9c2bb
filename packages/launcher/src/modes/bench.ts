/** Mode `bench`: evaluates checkpoints on the evaluation task sets. */
import { memoryExperienceStore } from '@trinity-rft/buffer';
import type { Closable } from '@trinity-rft/core/support';
import type { StageConfig } from '@trinity-rft/config';
import type { ChatFormat } from '@trinity-rft/chat';
import { ConfigError, TaskError, WorkflowError } from '@trinity-rft/core';
import type { Engine, Sampler } from '@trinity-rft/core/engine';
import { createExplorer, type EvaluatedSet } from '@trinity-rft/explorer';
import { isOwnFailure } from '@trinity-rft/explorer/internal';
import { listCheckpoints, verifyCheckpoint, type Checkpoint } from '@trinity-rft/trainer';
import { openTasks } from '../assembly/data/tasks.js';
import { explorerOptions, runsHere } from '../assembly/explorer-options.js';
import { openAuxiliaryModels } from '../assembly/models/auxiliary-models.js';
import { openChatFormat } from '../assembly/models/chat-format.js';
import { openEndpoint } from '../assembly/models/endpoint.js';
import { openEngine, sampleFromStart, unlessEngineFails } from '../assembly/models/engine.js';
import { externalSampler } from '../assembly/models/external-model.js';
import { disposable } from '../context/disposable.js';
import { stageResult, type StageContext, type StageResult } from '../context/stage-context.js';

/**
 * Evaluates checkpoints. The model before training is the checkpoint of step 0. Metrics have names
 * such as `bench/<set>/...`.
 */
export async function runBench(context: StageContext): Promise<StageResult> {
  const { stage, startModel, extensions, runtime, signal, env, onProgress, onPause } = context;
  const { engines } = extensions;
  const sink = context.openSink({});
  const format = await openChatFormat(stage, startModel);
  await using tasks = await openTasks(stage, extensions, context);
  if (tasks.evalSets.length === 0)
    throw new TaskError(
      'There is nothing to evaluate. Give buffer.explorer_input.eval_tasksets at least one task set.',
      { code: 'BENCH_NO_TASKS' },
    );
  await using engine = disposable(await openBenched(context, format));
  await using endpoint = disposable(await openEndpoint(runtime));
  await using auxiliary = disposable(await openAuxiliaryModels(stage, runtime, engines, endpoint));
  await using store = disposable(memoryExperienceStore());
  const engineFailed = AbortSignal.any([engine.failed, auxiliary.failed]);
  const { sampler, targets } = engine;
  const runs = runsHere(stage, runtime, { sampler, format, auxiliary, endpoint, env });
  let sets: EvaluatedSet[] = [];
  let hasScore = false;
  let firstError: Error | undefined;
  const parts = { runs, tasks, sink, onProgress, onPause };
  const { onEvaluated, ...options } = explorerOptions(stage, runtime, extensions, parts);
  const explorer = createExplorer({
    ...options,
    onEvaluated: (evaluated) => {
      onEvaluated?.(evaluated);
      sets.push(evaluated);
      for (const run of evaluated.outcomes.flatMap(({ runs: ofTask }) => ofTask))
        if (run.status === 'ok' || run.kind === 'timed_out' || isOwnFailure(run)) hasScore = true;
        else firstError ??= run.error;
    },
    store,
    sync: fixedWeights,
    signal: AbortSignal.any([signal, engineFailed]),
  });
  for (const target of targets) {
    const { step } = target;
    runtime.logger.info(
      stage.external
        ? `Evaluates "${stage.external.name}" behind its API.`
        : `Evaluates the weights of step ${step}.`,
    );
    await engine.adopt(target);
    const metrics = await unlessEngineFails(engineFailed, () => explorer.evaluate(step, 'bench'));
    sink.write({ role: 'bench', step, metrics });
    const { checkpoint, isLast } = target;
    context.evaluation?.onCheckpoint({ step, directory: checkpoint?.directory, isLast, sets });
    sets = [];
  }
  // An evaluation states the number of failed runs beside each score.
  if (!context.evaluation && firstError && !hasScore)
    throw new WorkflowError(
      'All runs of the benchmark failed. Start it again when the cause of the first failure is fixed.',
      { code: 'ALL_RUNS_FAILED', cause: firstError },
    );
  return stageResult(targets.at(-1)?.step ?? 0);
}

const fixedWeights: Parameters<typeof createExplorer>[0]['sync'] = {
  isBoundary: () => false,
  isSyncPoint: () => false,
  exploreBoundary: () => Promise.resolve({ outcome: 'unchanged', version: 0 }),
};

/** Opened sampler, and the weights to evaluate with it. */
interface Benched extends Closable {
  readonly sampler: Sampler;
  readonly targets: readonly BenchTarget[];
  readonly failed: AbortSignal;
  adopt(target: BenchTarget): Promise<void>;
}

async function openBenched(context: StageContext, format: ChatFormat): Promise<Benched> {
  const { stage, startModel, extensions, runtime, signal, env, evaluation } = context;
  if (stage.external)
    return {
      sampler: externalSampler(stage),
      targets: [baseTarget],
      failed: new AbortController().signal,
      adopt: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
  const targets = await benchTargets(stage, evaluation?.checkpoints);
  const model = { startModel, format, runtime, signal, env };
  const engine = await openEngine(stage, model, extensions.engines, false);
  const { sampler, failed } = engine;
  return {
    sampler,
    targets,
    failed,
    adopt: (target) => adoptTarget(engine, target),
    close: () => engine.close(),
  };
}

interface BenchTarget {
  /** Checkpoint to evaluate; undefined for the weights that the engine was opened with. */
  readonly checkpoint: Checkpoint | undefined;
  readonly step: number;
  /** True for the newest checkpoint. */
  readonly isLast: boolean;
}

const baseTarget: BenchTarget = { checkpoint: undefined, step: 0, isLast: false };

async function benchTargets(
  { jobDirectory, explorer: { evalOnStartup, benchOnLatestCheckpoint } }: StageConfig,
  named: readonly string[] | undefined,
): Promise<readonly BenchTarget[]> {
  const checkpoints = (await listCheckpoints(jobDirectory)).map((checkpoint, i, { length }) => ({
    checkpoint,
    step: checkpoint.manifest.step,
    isLast: i === length - 1,
  }));
  const all = [baseTarget, ...checkpoints];
  if (named) return namedTargets(named, all, jobDirectory);
  const base = evalOnStartup || checkpoints.length === 0 ? all.slice(0, 1) : [];
  return [...base, ...(benchOnLatestCheckpoint ? checkpoints.slice(-1) : checkpoints)];
}

/**
 * Returns the named checkpoints in ascending order of steps. `best` selects all checkpoints,
 * because all must be evaluated to find the best.
 * @throws ConfigError for an invalid name, and for a checkpoint that does not exist
 */
function namedTargets(
  names: readonly string[],
  all: readonly BenchTarget[],
  jobDirectory: string,
): readonly BenchTarget[] {
  const trained = all.slice(1);
  const wanted = new Set(
    names.flatMap((name) => {
      const found =
        name === 'base'
          ? all.slice(0, 1)
          : name === 'best'
            ? trained
            : name === 'last'
              ? trained.slice(-1)
              : all.filter(({ step }) => String(step) === name);
      if (found.length > 0) return found;
      const steps = trained.map(({ step }) => step).join(', ');
      throw new ConfigError(
        `${jobDirectory} has no checkpoint "${name}". Expected base, ${steps === '' ? 'as nothing was saved yet' : `last, best, or one of the train steps ${steps}`}.`,
        { code: 'CHECKPOINT_MISSING' },
      );
    }),
  );
  return all.filter((target) => wanted.has(target));
}

async function adoptTarget(engine: Engine, { checkpoint, step }: BenchTarget): Promise<void> {
  if (!checkpoint) return sampleFromStart(engine);
  await verifyCheckpoint(checkpoint);
  await engine.sampler.adopt({ kind: 'checkpoint', directory: checkpoint.directory }, step);
}
