/** Mode `bench`: evaluates checkpoints on the evaluation task sets. */
import { TaskError } from '@trinity-rft/core';
import { createExplorer } from '@trinity-rft/explorer';
import { listCheckpoints } from '@trinity-rft/trainer';
import { memoryExperienceStore } from '@trinity-rft/buffer';
import { openAuxiliaryModels } from '../assembly/models/auxiliary-models.js';
import { openChatFormat } from '../assembly/models/chat-format.js';
import { disposable } from '../context/disposable.js';
import { openEndpoint } from '../assembly/models/endpoint.js';
import { openEngine } from '../assembly/models/engine.js';
import { explorerOptions } from '../assembly/explorer-options.js';
import { openTasks } from '../assembly/data/tasks.js';
import type { StageContext, StageResult } from '../context/stage-context.js';
import { orGone } from './gone.js';

/** The model itself counts as the checkpoint of step 0; metrics go out under `bench/<set>/`. */
export async function runBench(context: StageContext): Promise<StageResult> {
  const { stage, runtime } = context;
  const sink = context.openSink({});
  const format = await openChatFormat(context);
  await using tasks = await openTasks(context);
  if (tasks.evalSets.length === 0) {
    throw new TaskError(
      'Mode bench has nothing to evaluate. Give buffer.explorer_input.eval_tasksets at least one task set.',
      {
        code: 'BENCH_NO_TASKS',
      },
    );
  }
  await using engine = disposable(await openEngine(context, { reference: false, format }));
  await using endpoint = disposable(await openEndpoint(context));
  await using auxiliary = disposable(await openAuxiliaryModels(context, endpoint));
  const gone = AbortSignal.any([engine.gone, auxiliary.gone]);
  await using store = disposable(memoryExperienceStore());
  const explorer = createExplorer({
    ...explorerOptions(context, {
      sampler: engine.sampler,
      format,
      auxiliary,
      endpoint,
      tasks,
      sink,
    }),
    store,
    sync: {
      isBoundary: () => false,
      exploreBoundary: () => Promise.resolve({ outcome: 'unchanged', version: 0 }),
    },
    signal: AbortSignal.any([context.signal, gone]),
  });
  const targets = await benchTargets(stage.jobDirectory, stage.explorer);
  for (const { directory, step } of targets) {
    runtime.logger.info(`Evaluates the weights of step ${step}.`);
    if (directory === undefined) await engine.trainer.publish(step);
    await engine.sampler.adopt(
      directory === undefined ? { kind: 'published' } : { kind: 'checkpoint', directory },
      step,
    );
    const metrics = await orGone(gone, () => explorer.evaluate(step, 'bench'));
    sink.write({ role: 'bench', step, metrics });
  }
  return {
    interrupted: false,
    doneBefore: false,
    trainStep: targets.at(-1)?.step ?? 0,
    checkpoint: undefined,
  };
}

interface BenchOptions {
  readonly evalOnStartup: boolean;
  readonly benchOnLatestCheckpoint: boolean;
}

interface BenchTarget {
  /** Undefined: what the engine was opened with. */
  readonly directory: string | undefined;
  readonly step: number;
}

async function benchTargets(
  jobDirectory: string,
  options: BenchOptions,
): Promise<readonly BenchTarget[]> {
  const checkpoints = (await listCheckpoints(jobDirectory)).map(({ directory, manifest }) => ({
    directory,
    step: manifest.step,
  }));
  const base =
    options.evalOnStartup || checkpoints.length === 0 ? [{ directory: undefined, step: 0 }] : [];
  return [...base, ...(options.benchOnLatestCheckpoint ? checkpoints.slice(-1) : checkpoints)];
}
