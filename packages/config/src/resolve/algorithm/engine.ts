/**
 * Chooses the engine that trains and samples, and checks that the engine supports the settings of
 * the file.
 */
import { ConfigError } from '@trinity-rft/core';
import type { EngineFacts } from '@trinity-rft/core/engine';
import { defaultEngineName } from '../../schema/engines.js';
import type { KeyPath } from '../../source/node.js';
import { sayIgnored, type StageContext } from '../base/context.js';
import type { AlgorithmConfig, StageConfig } from '../base/resolved.js';
import { checkDevice } from '../model/device.js';
import { checkWeights } from '../model/quantization.js';
import { unmetNeeds } from './unmet-needs.js';

const trainerKey: KeyPath = ['trainer', 'trainer_type'];
const samplerKey: KeyPath = ['explorer', 'rollout_model', 'engine_type'];
const tinkerKey: KeyPath = ['model', 'tinker'];
const loraKey: KeyPath = ['model', 'lora_configs'];
const algorithmKey: KeyPath = ['algorithm', 'algorithm_type'];

/**
 * Returns the name of the engine that the file selects, or of the default engine. Skips names that
 * are not in the table; their statuses are reported elsewhere.
 */
export function deriveEngine(context: StageContext): string {
  const { input, engines } = context;
  if (Object.keys(engines).length === 0)
    throw new ConfigError('There is no engine to choose. Pass `engines` with at least one.', {
      code: 'ENGINES_EMPTY',
    });
  const chosen = (path: KeyPath, name: string): string | undefined =>
    context.isSet(...path) && Object.hasOwn(engines, name) ? name : undefined;
  if (input.model.tinker.enable) return chooseTinker(context);
  const trains = chosen(trainerKey, input.trainer.trainer_type);
  const samples = chosen(samplerKey, input.explorer.rollout_model.engine_type);
  if (trains !== undefined && samples !== undefined && trains !== samples)
    context.report(
      samplerKey,
      `got "${samples}", but trainer.trainer_type is "${trains}", and one engine trains and samples. Remove one of the two keys.`,
      [trainerKey],
    );
  return trains ?? samples ?? defaultEngineName(engines);
}

/**
 * Selects the engine for `model.tinker.enable`, which applies to training and sampling, as in
 * Trinity-RFT.
 */
function chooseTinker(context: StageContext): string {
  const { engines, input } = context;
  const name = 'tinker';
  if (!Object.hasOwn(engines, name)) {
    const known = Object.keys(engines).join(', ');
    context.report(
      [...tinkerKey, 'enable'],
      `got true, but there is no engine "tinker". Use ${known}.`,
    );
    return defaultEngineName(engines);
  }
  const others = [
    [trainerKey, input.trainer.trainer_type],
    [samplerKey, input.explorer.rollout_model.engine_type],
  ] as const;
  for (const [path, chosen] of others)
    if (context.isSet(...path) && chosen !== name && Object.hasOwn(engines, chosen))
      context.report(
        path,
        `got "${chosen}", but model.tinker.enable is true. Remove one of the two keys.`,
        [tinkerKey],
      );
  return name;
}

/**
 * Returns the engine of the critic: the engine of the stage if that engine has a value head,
 * otherwise the first engine with a value head.
 */
export function deriveCriticEngine({ engines }: StageContext, engine: string): string {
  const hasValueHead = (name: string): boolean => engines[name]?.capabilities.valueHead ?? false;
  return hasValueHead(engine) ? engine : (Object.keys(engines).find(hasValueHead) ?? engine);
}

type Checked = Pick<StageConfig, 'engine' | 'algorithm' | 'model' | 'sampler'>;

/**
 * Checks that the engine supports the device and the weights. Unless the mode is bench, also checks
 * the algorithm and the adapter.
 */
export function checkEngine(
  context: StageContext,
  { engine, algorithm, model, sampler }: Checked,
): void {
  checkDevice(context, { model }, engine);
  checkWeights(context, { mode: context.mode, engine, model, sampler });
  const facts = context.engines[engine];
  if (facts === undefined || context.input.mode === 'bench') return;
  const { valueHead } =
    context.engines[deriveCriticEngine(context, engine)]?.capabilities ?? facts.capabilities;
  const able = { ...facts, capabilities: { ...facts.capabilities, valueHead } };
  reportUnmet(context, algorithm, unmetNeeds(algorithm.needs, able));
  const { modelSection, scoresText = true } = facts.capabilities;
  if (!scoresText && context.part !== undefined && !sampler)
    context.report(
      context.isSet(...trainerKey) ? trainerKey : samplerKey,
      `the engine "${engine}" cannot score text, so an explorer in a process of its own cannot prove that it samples with the trainer's weights. Use mode: both.`,
      [['mode']],
    );
  if (modelSection !== tinkerKey.join('.'))
    sayIgnored(
      context,
      ['model'],
      ['tinker'],
      `The engine "${engine}" trains; set enable: true for the server.`,
    );
  checkAdapters(context, { engine, facts, model });
}

function checkAdapters(
  context: StageContext,
  { engine, facts, model }: Pick<StageConfig, 'engine' | 'model'> & { readonly facts: EngineFacts },
): void {
  const { lora, fullParameter, modelSection } = facts.capabilities;
  const trains =
    modelSection === undefined ? 'trains no adapters' : `trains the adapter of ${modelSection}`;
  if (model.lora !== undefined && !lora)
    context.report(loraKey, `the engine "${engine}" ${trains}. Remove lora_configs.`);
  if (model.lora === undefined && !fullParameter && modelSection === undefined)
    context.report(
      context.isSet(...trainerKey) ? trainerKey : samplerKey,
      `the engine "${engine}" trains adapters only. Set model.lora_configs.`,
      [loraKey],
    );
}

/**
 * Reports unmet needs at the key of the part that has the need, or at the algorithm if no such key
 * is set.
 */
function reportUnmet(
  context: StageContext,
  { algorithmType }: AlgorithmConfig,
  unmet: ReturnType<typeof unmetNeeds>,
): void {
  for (const { reason, fix, keys } of unmet) {
    const paths = keys.map((key): KeyPath => ['algorithm', key]);
    const place = paths.find((path) => context.isSet(...path)) ?? algorithmKey;
    context.report(place, `${algorithmType} ${reason}. ${fix}.`, [algorithmKey, ...paths]);
  }
}
