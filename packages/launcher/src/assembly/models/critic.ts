/** The critic of a stage. */
import { ConfigError, type ValueEngine } from '@trinity-rft/core';
import { type Algorithm } from '@trinity-rft/core/internal';
import { criticIn } from '@trinity-rft/trainer/internal';
import { disposable } from '../../context/disposable.js';
import type { StageContext } from '../../context/stage-context.js';
import { engineNamed } from './engines.js';
import { explainFolderErrors, modelOfStage } from './model-folder.js';

/**
 * Opens a critic if the algorithm learns with one. It starts from the critic of the previous stage
 * if there is one, else from `model.critic_model_path`, else from the model itself with a new head.
 * Critic and policy never compute at the same time, so each gets all threads and the whole memory
 * budget.
 * @throws ConfigError when the folder cannot be used
 */
export async function openCritic(
  context: StageContext,
  { needs }: Algorithm,
): Promise<(ValueEngine & AsyncDisposable) | undefined> {
  if (!needs.valueHead) return undefined;
  const { stage, startModel, engines } = context;
  const engine = engineNamed(engines, stage.engine);
  const open = engine.openCritic?.bind(engine);
  if (!open)
    throw new ConfigError(
      `The algorithm learns with a critic, and the engine ${engine.name} cannot open one. Choose an advantage_fn without a critic, or another engine.`,
      { code: 'ENGINE_NEEDS_UNMET' },
    );
  const { threads, memoryBudgetMb, criticModelPath, fromPreviousStage } = stage.model;
  const previous = fromPreviousStage ? await criticIn(startModel) : undefined;
  const chosen = previous === undefined ? criticModelPath : undefined;
  const modelPath = previous ?? chosen ?? startModel;
  const given =
    chosen === undefined
      ? modelOfStage(context)
      : { key: 'model.critic_model_path', folder: chosen };
  return disposable(
    await explainFolderErrors(given, () => open({ modelPath, threads, memoryBudgetMb })),
  );
}
