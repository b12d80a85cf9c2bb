/** Mode `train` beside explorers: plans the tasks, and trains on what explorers make of them. */
import { withMadeTasks } from '../assembly/task-pipeline/make-tasks.js';
import { areShared, shareTasks } from '../assembly/task-pipeline/share-tasks.js';
import { disposable } from '../context/disposable.js';
import type { StageContext, StageResult } from '../context/stage-context.js';
import { agreementOf } from './apart/agreement.js';
import { exploredAlone } from './apart/explore-alone.js';
import { openStageStore } from './apart/open-store.js';
import { trainBeside } from './apart/train-beside.js';
import { runLoop } from './both.js';

export async function runTrainer(context: StageContext): Promise<StageResult> {
  const { stage } = context;
  const agreement = await agreementOf(stage);
  await using store = disposable(await openStageStore(context, { role: 'trainer', agreement }));
  const explored = await exploredAlone(store, { role: 'trainer', agreement });
  const now = explored ? afterExplorer(context, explored) : context;
  return await trainBeside(now, { store, agreement }, async (elsewhere, seat) => {
    const hasBegun = context.hasBegun === true || (await areShared(store));
    const made = await seat.waitFor({ what: 'the task pipeline', on: undefined }, () =>
      withMadeTasks({ ...now, hasBegun }),
    );
    await shareTasks(stage, { store, member: seat.member });
    return runLoop(made, elsewhere);
  });
}

/** Evaluations need an explorer, and none is to come where every step is explored. */
function afterExplorer(
  context: StageContext,
  { step, isLast }: { readonly step: number; readonly isLast: boolean },
): StageContext {
  const { stage, runtime } = context;
  const { maxStaleness } = stage.algorithm.sampleStrategy.args;
  const { explorerInput } = stage.buffer;
  const hasEvaluations = isLast && explorerInput.evalTasksets.length > 0;
  runtime.logger.warn(
    [
      `Explore steps 1 to ${step} were explored without a trainer, by the weights that the run starts from (version 0), so training on them is off-policy.`,
      ...(typeof maxStaleness === 'number'
        ? [
            `algorithm.sample_strategy_args.max_staleness ${maxStaleness} drops what is older than that; sample/stale_dropped counts it.`,
          ]
        : []),
      ...(hasEvaluations
        ? ['Evaluations are left out, as no explorer makes them: trinity eval FILE.']
        : []),
    ].join(' '),
  );
  if (!hasEvaluations) return context;
  const buffer = { ...stage.buffer, explorerInput: { ...explorerInput, evalTasksets: [] } };
  return { ...context, stage: { ...stage, buffer } };
}
