/** Lists the settings of a stage under the keys of the YAML file, without secrets. */
import type { StageConfig } from '@trinity-rft/config';
import { redact } from '@trinity-rft/config/internal';

/** Matches the part of a key that the user chose, such as the name of an environment variable. */
const freeKeys = /(?<=\.(?:envVars|workflowArgs|rewardFnArgs)\.).*$/;

/**
 * Values by key path, such as `buffer.batch_size`. A value is a string, a number, a boolean, or a
 * list of these.
 */
export type Settings = Readonly<Record<string, unknown>>;

/**
 * Patterns for the keys of settings that follow from other settings or from the path of the
 * training run's folder.
 */
const derived: readonly RegExp[] = [
  /^(?:stage_index|project|group|name|job_directory|part|run_store)$/,
  /^(?:monitor|log)\.directory$/,
  /^algorithm\.(?:needs|needs_rollouts|schema)\b/,
  /^buffer\.train_batch\./,
  /^model\.(?:from_previous_stage$|base\.)/,
  /\.(?:is_(?:local|eval)|names_reward_fn)$/,
  /^sampler\.tolerance$/,
];

/**
 * Patterns for keys of the resolved configuration that have another name in the YAML file, with
 * that name.
 */
const renamed: readonly (readonly [resolved: RegExp, key: string])[] = [
  [/^engine$/, 'trainer.trainer_type'],
  [/^sampler\.name$/, 'explorer.rollout_model.engine_type'],
  [/^sampler\.servers\[(\d+)\]\.url$/, 'explorer.rollout_model.base_url[$1]'],
  [/^sampler\.(?:servers\[\d+\]|start)\./, 'explorer.rollout_model.'],
  [/^model\.lora\.(rank|alpha)$/, 'model.lora_configs[0].lora_$1'],
  [/^model\.lora\./, 'model.lora_configs[0].'],
  [/^explorer\.serve\.host$/, 'explorer.listen_address'],
  [/^explorer\.serve\.port$/, 'explorer.proxy_port'],
  [/^explorer\.serve\.check_interval_ms$/, 'explorer.service_status_check_interval_ms'],
  [/^explorer\.serve\./, 'explorer.'],
  [/^monitor\.sinks$/, 'monitor.monitor_type'],
  [/^monitor\.args\.\w+\./, 'monitor.monitor_args.'],
  [/\.clip_grad_norm$/, '.clip_grad'],
  [/^(algorithm\.\w+_(?:fn|strategy))\.name$/, '$1'],
  [/^(algorithm\.\w+_(?:fn|strategy))\.args\./, '$1_args.'],
  [/^(buffer\.explorer_input\.\w+\[\d+\])\.workflow$/, '$1.default_workflow_type'],
  [/^(buffer\.explorer_input\.\w+\[\d+\])\.reward_fn$/, '$1.default_reward_fn_type'],
  [/^(explorer\.auxiliary_models\[\d+\])\.source\./, '$1.'],
  [/^buffer\.trainer_input\.experts\.buffer\./, 'buffer.trainer_input.auxiliary_buffers.'],
];

export function settingsOf(stage: StageConfig): Settings {
  const { modelPath, fromPreviousStage } = stage.model;
  const model = { ...stage.model, modelPath: fromPreviousStage ? previousStage : modelPath };
  return Object.fromEntries(
    flatten('', redact({ ...stage, model }))
      .map(([key, value]) => inUnitOfFile(nameOf(key), value))
      .filter(([key]) => !isDerived(key)),
  );
}

/** Returns true for the key of a setting that follows from other settings. */
export const isDerived = (key: string): boolean => derived.some((pattern) => pattern.test(key));

const previousStage = 'the checkpoint of the stage before';

function flatten(key: string, value: unknown): readonly (readonly [string, unknown])[] {
  if (value === undefined || value === null) return [];
  if (
    Array.isArray(value) &&
    (value.length === 0 || value.some((item) => typeof item === 'object'))
  )
    return value.flatMap((item, i) => flatten(`${key}[${i}]`, item));
  if (typeof value !== 'object' || Array.isArray(value)) return [[key, value]];
  return Object.entries(value).flatMap(([name, inner]) =>
    flatten(key === '' ? name : `${key}.${name}`, inner),
  );
}

function nameOf(key: string): string {
  const free = freeKeys.exec(key)?.[0] ?? '';
  const snake = key
    .slice(0, key.length - free.length)
    .replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const found = renamed.find(([resolved]) => resolved.test(snake));
  return (found ? snake.replace(found[0], found[1]) : snake) + free;
}

/**
 * Converts milliseconds to seconds and bytes to MiB, as in the YAML file. Environment variables and
 * arguments of parts are unchanged.
 */
function inUnitOfFile(key: string, value: unknown): readonly [string, unknown] {
  if (typeof value !== 'number' || /\.(?:env_vars|\w+_args)\./.test(key)) return [key, value];
  if (key.endsWith('_ms')) return [key.slice(0, -'_ms'.length), value / 1000];
  if (key.endsWith('_bytes')) return [key.replace(/_bytes$/, '_mb'), value / 2 ** 20];
  return [key, value];
}
