/** The critic of a stage. */
import type { Algorithm, ValueEngine } from '@trinity-rft/core';
import { createOnnxCritic } from '@trinity-rft/engine-onnx';
import { criticIn } from '@trinity-rft/trainer';
import type { StageContext } from '../../context/stage-context.js';
import { disposable } from '../../context/disposable.js';
import { bytesPerMebibyte } from './engine.js';
import { aboutModel } from './model-folder.js';

/**
 * Opens a critic where the algorithm learns with one. It starts from that of the stage before,
 * where there is one, else from `model.critic_model_path`, else from the model itself with a new
 * head. It computes while the policy does not, with as many threads; a pass of either may take the
 * memory budget. @throws ConfigError when the folder cannot be used
 */
export async function openCritic(
  context: StageContext,
  { needs }: Algorithm,
): Promise<(ValueEngine & AsyncDisposable) | undefined> {
  if (!needs.valueHead) return undefined;
  const { stage, startModel } = context;
  const { threads, memoryBudgetMb, criticModelPath, fromPreviousStage } = stage.model;
  const before = fromPreviousStage ? await criticIn(startModel) : undefined;
  const own = before === undefined ? criticModelPath : undefined;
  const open = (): Promise<ValueEngine> =>
    createOnnxCritic({
      modelPath: before ?? own ?? startModel,
      ...(threads !== undefined && { threads }),
      ...(memoryBudgetMb !== undefined && { memoryBudgetBytes: memoryBudgetMb * bytesPerMebibyte }),
    });
  const given = own === undefined ? [] : [{ key: 'model.critic_model_path', folder: own }];
  return disposable(await aboutModel(context, open, ...given));
}
