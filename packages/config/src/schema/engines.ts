/** Keys that select an engine by its name in the table, or by another name of Trinity-RFT. */
import type { EngineFacts } from '@trinity-rft/core/engine';
import { z } from 'zod';
import { derived, field, ignored, notSupported } from './fields.js';
import { cast, oneOf } from './scalars.js';

/** Facts about each engine, by its name in YAML. The first engine is the default. */
export type EngineFactsTable = Readonly<Record<string, EngineFacts>>;

export const defaultEngineName = (engines: EngineFactsTable): string =>
  Object.keys(engines)[0] ?? 'none';

type Names = [string, ...string[]];

/** Returns the names that have no engine in the table. */
const missing = (engines: EngineFactsTable, names: readonly string[]): readonly string[] =>
  names.filter((name) => !Object.hasOwn(engines, name));

const use = (engines: EngineFactsTable): string => `Use ${Object.keys(engines).join(', ')}`;

/** Schema of `trainer.trainer_type`. */
export const trainerType = (engines: EngineFactsTable) =>
  field(
    oneOf([...Object.keys(engines), ...missing(engines, ['verl', 'tinker'])] as Names),
    defaultEngineName(engines),
    'What trains. onnx: the embedded engine, also for verl. tinker: the server of model.tinker.',
    ignored('The embedded engine trains instead.', { values: missing(engines, ['verl']) }),
    notSupported(`${use(engines)}.`, { values: missing(engines, ['tinker']) }),
    derived,
  );

/** Programs that sample instead of the engine that trains. Their URLs are in `base_url`. */
export const samplerNames = ['vllm', 'sglang'] as const;

/** Schema of `engine_type` of the rollout model and of auxiliary models. */
export const engineType = (table: EngineFactsTable, kind: 'rollout' | 'auxiliary') => {
  const auxiliary = kind === 'auxiliary';
  const engines = auxiliary ? withoutOwnSection(table) : table;
  const names = [
    ...Object.keys(engines),
    ...missing(engines, [...samplerNames, 'tinker', 'external']),
  ] as Names;
  const choice = cast(normalized, z.enum(names), `one of ${names.join(', ')}`);
  return field(
    choice as z.ZodPreprocess<z.ZodEnum<Record<string, string>>>,
    defaultEngineName(engines),
    auxiliary
      ? 'What samples. onnx: the embedded engine, also for vllm and sglang.'
      : 'What samples. onnx: the embedded engine; vllm, sglang: the servers of base_url, without it the engine that trains; sglang was never run against a real server; tinker: the server of model.tinker; external: a model behind an API.',
    ignored('The embedded engine samples instead.', {
      values: auxiliary ? missing(engines, samplerNames) : [],
    }),
    notSupported(`${use(engines)}${auxiliary ? ', or give base_url' : ''}.`, {
      values: missing(engines, ['tinker']),
    }),
    derived,
  );
};

/**
 * Returns the engines that can serve auxiliary models. Excludes engines with their own section in
 * the configuration, because they only serve the trained model.
 */
const withoutOwnSection = (engines: EngineFactsTable): EngineFactsTable =>
  Object.fromEntries(
    Object.entries(engines).filter(
      ([, { capabilities }]) => capabilities.modelSection === undefined,
    ),
  );

/** Converts names to lower case, and shortens names that begin with `vllm` to `vllm`. */
const normalized = (value: unknown): unknown =>
  typeof value === 'string' ? value.toLowerCase().replace(/^vllm.*/, 'vllm') : value;
