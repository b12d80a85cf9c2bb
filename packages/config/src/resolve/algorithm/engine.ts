/** The engine that trains and samples. */
import { ConfigError } from '@trinity-rft/core';
import { defaultEngine } from '../../schema/engines.js';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';

const trainerKey: KeyPath = ['trainer', 'trainer_type'];
const samplerKey: KeyPath = ['explorer', 'rollout_model', 'engine_type'];

/**
 * The name of the engine in the table. Names of the original that have a status (`verl`, `vllm`)
 * choose nothing.
 */
export function deriveEngine(context: StageContext): string {
  const { input, engines } = context;
  if (Object.keys(engines).length === 0)
    throw new ConfigError('There is no engine to choose. Pass `engines` with at least one.', {
      code: 'ENGINES_EMPTY',
    });
  const chosen = (path: KeyPath, name: string): string | undefined =>
    context.isSet(...path) && Object.hasOwn(engines, name) ? name : undefined;
  const trains = chosen(trainerKey, input.trainer.trainer_type);
  const samples = chosen(samplerKey, input.explorer.rollout_model.engine_type);
  if (trains !== undefined && samples !== undefined && trains !== samples)
    context.report(
      samplerKey,
      `got "${samples}", but trainer.trainer_type is "${trains}", and one engine trains and samples. Remove one of the two keys.`,
      [trainerKey],
    );
  return trains ?? samples ?? defaultEngine(engines);
}
