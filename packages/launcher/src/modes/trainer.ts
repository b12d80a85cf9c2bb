/** Mode `train` beside explorers: plans the tasks, and trains on what explorers make of them. */
import { withMadeTasks } from '../assembly/task-pipeline/make-tasks.js';
import { areShared, shareTasks } from '../assembly/task-pipeline/share-tasks.js';
import { disposable } from '../context/disposable.js';
import type { StageContext, StageResult } from '../context/stage-context.js';
import { agreementOf } from './apart/agreement.js';
import { openStageStore } from './apart/open-store.js';
import { trainBeside } from './apart/train-beside.js';
import { runLoop } from './both.js';

export async function runTrainer(context: StageContext): Promise<StageResult> {
  const { stage } = context;
  const agreement = await agreementOf(stage);
  await using store = disposable(await openStageStore(context, { role: 'trainer', agreement }));
  return await trainBeside(context, { store, agreement }, async (elsewhere, seat) => {
    const hasBegun = context.hasBegun === true || (await areShared(store));
    const made = await seat.waitFor({ what: 'the task pipeline', on: undefined }, () =>
      withMadeTasks({ ...context, hasBegun }),
    );
    await shareTasks(stage, { store, member: seat.member });
    return runLoop(made, elsewhere);
  });
}
