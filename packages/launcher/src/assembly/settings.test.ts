import { parseConfig, problemsOf, type StageConfig } from '@trinity-rft/config';
import { expect, it } from 'vitest';
import { settingsOf, type Settings } from './settings.js';

const capabilities = { entropy: true, fullParameter: true, lora: true, referenceModel: true };
const parse = (file: object): StageConfig =>
  parseConfig(JSON.stringify(file), {
    cwd: '/nowhere',
    env: {},
    engines: { onnx: { name: 'onnx', capabilities } },
  } as never).config.stages[0];

/** Returns the sections of a configuration file that sets all of `settings`. */
function fileOf(settings: Settings): object {
  const file: Record<string, never> = {};
  for (const [key, value] of Object.entries(settings)) {
    const parts = key.split(/\]?[.[]|\]/);
    let at: Record<string, unknown> = file;
    for (const [i, part] of parts.slice(0, -1).entries())
      at = (at[part] ??= /^\d+$/.test(parts[i + 1] ?? '') ? [] : {}) as never;
    at[parts.at(-1) ?? ''] = value;
  }
  return file;
}

const taskset = { path: 'o/tasks', default_workflow_type: 'w', default_reward_fn_type: 'r' };
const allKinds = {
  mode: 'both',
  model: { model_path: 'o/m', max_model_len: 64, lora_configs: [{ exclude_modules: 'o_proj' }] },
  algorithm: { algorithm_type: 'mix_chord' },
  buffer: {
    explorer_input: { tasksets: [taskset], eval_tasksets: [taskset] },
    trainer_input: { auxiliary_buffers: { sft_dataset: { path: 'o/texts' } } },
  },
  explorer: {
    auxiliary_models: [
      { name: 'judge', model_path: 'o/judge' },
      { name: 'remote', model_path: 'm', base_url: 'http://127.0.0.1:9/v1' },
    ],
  },
};

/**
 * Recorded keys that no file can set. A further one would be reported as a change, or refused, when
 * a run is resumed whose record is from before the key: list a new field of the resolved
 * configuration that is no setting in `derived` of settings.ts instead.
 */
const recordedAnyway = [
  'trainer.critic',
  'model.hub_id',
  'buffer.trainer_input.experts',
  'explorer.auxiliary_models[0].kind',
  'explorer.auxiliary_models[0].engine',
  'explorer.auxiliary_models[1].kind',
  'explorer.concurrency',
];

it('records only keys of the configuration file', () => {
  const settings = Object.entries(settingsOf(parse(allKinds)))
    // These are recorded without the name of the buffer.
    .filter(([key]) => !key.startsWith('buffer.trainer_input.auxiliary_buffers.'));
  let unknown: readonly string[] = [];
  try {
    parse(fileOf(Object.fromEntries(settings)));
  } catch (error) {
    unknown = problemsOf(error)
      .filter(({ message }) => message.startsWith('unknown key'))
      .map(({ key }) => key);
  }
  expect(unknown.toSorted()).toEqual(recordedAnyway.toSorted());
});
