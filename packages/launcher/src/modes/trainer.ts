/**
 * Mode `train` with explorers in other processes: plans the tasks, and trains on the experiences of
 * the explorers.
 */
import type { StageConfig } from '@trinity-rft/config';
import { openTasks } from '../assembly/data/tasks.js';
import { withMadeTasks } from '../assembly/task-pipeline/make-tasks.js';
import { areShared, shareTasks } from '../assembly/task-pipeline/share-tasks.js';
import { disposable } from '../context/disposable.js';
import type { StageContext, StageResult } from '../context/stage-context.js';
import { agreementOf } from './distributed/agreement.js';
import { exploredAlone } from './distributed/explore-alone.js';
import { openStageStore } from './distributed/open-store.js';
import { trainBeside } from './distributed/train-beside.js';
import { runLoop } from './both.js';

export async function runTrainer(context: StageContext): Promise<StageResult> {
  const { runtime, signal } = context;
  const agreement = await agreementOf(context.stage);
  const own = { role: 'trainer', agreement } as const;
  await using store = disposable(await openStageStore(context.stage, own, context));
  const explored = await exploredAlone(store, own);
  const stage = explored ? await afterExplorer(context, explored.step) : context.stage;
  const beside = { store, agreement, runtime, signal };
  return await trainBeside(stage, beside, async (remote, joined) => {
    const hasBegun = context.hasBegun || (await areShared(store));
    const made = await joined.waitFor({ what: 'the task pipeline', on: undefined }, () =>
      withMadeTasks({ ...context, stage }, hasBegun),
    );
    await shareTasks(stage, { store, member: joined.member });
    return runLoop({ ...context, stage: made, hasBegun, onPause: joined.showWait }, remote);
  });
}

/**
 * Returns the stage for a trainer that joins after an explorer has explored without a trainer. If
 * all steps are explored, the stage has no evaluations, because no explorer is left to make them.
 */
async function afterExplorer(context: StageContext, step: number): Promise<StageConfig> {
  const { stage, extensions, runtime } = context;
  const { explorerInput } = stage.buffer;
  await using tasks = await openTasks(stage, extensions, context);
  const hasEvaluations = step >= tasks.exploreSteps && tasks.evalSets.length > 0;
  runtime.logger.warn(
    [
      `Explore steps 1 to ${step} were explored without a trainer, by the weights that the run starts from (version 0), so training on them is off-policy.`,
      ...(hasEvaluations
        ? ['Evaluations are left out, as no explorer makes them: trinity eval FILE.']
        : []),
    ].join(' '),
  );
  if (!hasEvaluations) return stage;
  const buffer = { ...stage.buffer, explorerInput: { ...explorerInput, evalTasksets: [] } };
  return { ...stage, buffer };
}
