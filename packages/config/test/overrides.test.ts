import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseConfig, problemsOf, renderProblem } from '../src/index.js';
import { engines } from './workspace.js';

const problems = (
  text: string,
  overrides: Readonly<Record<string, unknown>>,
): readonly string[] => {
  try {
    parseConfig(text, { file: 'base.yaml', overrides, overridesName: 'tune()', env: {}, engines });
    return [];
  } catch (error) {
    return problemsOf(error).map(renderProblem);
  }
};

describe('overrides', () => {
  it('are laid over the file key by key, and may interpolate as it does', () => {
    const text =
      'name: mine\nmode: train\nalgorithm: { algorithm_type: sft, optimizer: { lr: 1.0e-3 } }\nmodel: { model_path: Qwen/Qwen3-0.6B, max_model_len: 64 }\nbuffer: { train_batch_size: 8, total_steps: 3, trainer_input: { experience_buffer: { name: rows, storage_type: file, path: owner/rows } } }\n';
    const { config } = parseConfig(text, {
      env: { LR: '2' },
      engines,
      overrides: {
        buffer: { total_steps: 5 },
        algorithm: { optimizer: { lr: '${oc.decode:${oc.env:LR}}' } },
      },
    });
    expect(config).toMatchObject({
      name: 'mine',
      stages: [
        { buffer: { totalSteps: 5, trainBatchSize: 8 }, algorithm: { optimizer: { lr: 2 } } },
      ],
    });
  });

  it('are blamed for their own mistakes, the file for its own, and for what is missing', () => {
    const found = problems('model: { max_model_len: 1 }\nbuffer: { batch_size: 0 }\n', {
      monitor: { monitor_type: 'paper' },
      buffer: { total_epochs: -1 },
    });
    expect(found).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^base\.yaml:1:\d+ model\.max_model_len: /),
        expect.stringMatching(/^base\.yaml:2:\d+ buffer\.batch_size: /),
        expect.stringMatching(/^tune\(\): monitor\.monitor_type/),
        expect.stringMatching(/^tune\(\): buffer\.total_epochs: /),
        expect.stringMatching(/^base\.yaml:1:1 model\.model_path: is not set/),
      ]),
    );
  });

  it('are refused where stages keep modes of their own', () => {
    const text =
      'stages: [{stage_name: a, mode: both}, {stage_name: b}, {stage_name: c, mode: train}]';
    const conflicts = (mode: string) =>
      problems(text, { mode }).filter((line) => line.startsWith('tune(): mode: got'));
    expect(conflicts('train')).toEqual([
      'tune(): mode: got "train", but stage a sets mode both, which it keeps. Remove one of the two.',
    ]);
    // An evaluation and a server use the last stage, and say so themselves.
    expect([...conflicts('bench'), ...conflicts('serve')]).toEqual([]);
  });

  it('evaluate the last stage that is not a benchmark, with the sets of benchmarks after it', () => {
    const set = (name: string) =>
      `buffer: {explorer_input: {eval_tasksets: [{name: ${name}, path: owner/${name}}]}}`;
    const evaluated = (stages: string, top = '') => {
      const text = `${top}model: {model_path: owner/model, max_model_len: 64}\nbuffer: {total_steps: 1, explorer_input: {taskset: {path: owner/rows}, default_workflow_type: w}}\nstages: [${stages}]`;
      const { config } = parseConfig(text, { env: {}, engines, overrides: { mode: 'bench' } });
      return config.stages.map(({ jobDirectory, mode, buffer }) => {
        const sets = buffer.explorerInput.evalTasksets.map(({ name }) => name);
        return [path.basename(jobDirectory), mode, ...sets];
      });
    };
    const [a, b] = [`{stage_name: a, mode: both, ${set('held')}}`, '{stage_name: b, mode: both}'];
    const tested = (name: string) => `{stage_name: ${name}, mode: bench, ${set(name)}}`;
    expect(evaluated(`${a}, ${b}, ${tested('c')}`)).toEqual([
      ['a', 'both', 'held'],
      ['b', 'bench', 'c'],
    ]);
    // The same where the benchmark has its mode from the file.
    expect(evaluated(`${a}, {stage_name: c, ${set('c')}}`, 'mode: bench\n')).toEqual([
      ['a', 'bench', 'c'],
    ]);
    expect(evaluated(`${tested('c')}, ${tested('d')}`)).toEqual([
      ['c', 'bench', 'c'],
      ['d', 'bench', 'd'],
    ]);
  });

  it('take from benchmarks only what an evaluation reads, and the sets of all of them', () => {
    const top =
      'model: {model_path: owner/model, max_model_len: 64}\nbuffer: {total_steps: 1, explorer_input: {default_workflow_type: w}}\n';
    const stage = (name: string, rest: string, tasks: string) =>
      `{stage_name: ${name}, ${rest}, buffer: {explorer_input: {${tasks}}}}`;
    const trained = stage(
      'a',
      'mode: both',
      'tasksets: [{path: owner/rows}], default_reward_fn_type: r',
    );
    const text = (...benchmarks: readonly string[]) =>
      `${top}stages: [${[trained, ...benchmarks].join(', ')}]`;
    const [x, y] = ['{name: x, path: owner/x}', '{name: y, path: owner/y}'];
    const b = stage(
      'b',
      'mode: bench, model: {model_path: other/base}, explorer: {max_timeout: 7}',
      `taskset: {path: owner/other}, eval_tasksets: [${x}, ${y}], default_workflow_type: v`,
    );
    const c = stage('c', 'mode: bench', `eval_tasksets: [{name: z, path: owner/z}]`);
    const file = text(b, b.replace('stage_name: b', 'stage_name: again'), c);
    const { config } = parseConfig(file, { env: {}, engines, overrides: { mode: 'bench' } });
    expect(config.stages).toMatchObject([
      { mode: 'bench', model: { modelPath: 'owner/model' }, explorer: { maxTimeoutMs: 7000 } },
    ]);
    const sets = config.stages[0].buffer.explorerInput.evalTasksets;
    expect(sets.map(({ name, workflow, rewardFn }) => [name, workflow, rewardFn])).toEqual([
      ['x', 'v', undefined],
      ['y', 'v', undefined],
      ['z', 'w', undefined],
    ]);
    // Sets and settings of the overrides take precedence over those of benchmarks.
    const given = parseConfig(file, {
      env: {},
      engines,
      overrides: {
        mode: 'bench',
        explorer: { max_timeout: 5 },
        buffer: { explorer_input: { eval_tasksets: [{ name: 'own', path: 'owner/own' }] } },
      },
    });
    expect(given.config.stages).toMatchObject([
      {
        explorer: { maxTimeoutMs: 5000 },
        buffer: { explorerInput: { evalTasksets: [{ name: 'own' }] } },
      },
    ]);
    // Two different sets of one name are an error, with the place of the second one.
    const clash = stage('c', 'mode: bench', 'eval_tasksets: [{name: x, path: owner/z}]');
    expect(problems(text(b, clash), { mode: 'bench' })).toEqual([
      expect.stringMatching(
        /^base\.yaml:3:\d+ stages\[2\]\.buffer\.explorer_input\.eval_tasksets\[0\]\.name: got "x"/,
      ),
    ]);
  });

  it('evaluate what was trained on stored answers', () => {
    const rows = 'trainer_input: {experience_buffer: {name: r, storage_type: file, path: owner/r}}';
    const sets = 'explorer_input: {eval_tasksets: [{path: owner/x, default_workflow_type: w}]}';
    const top = 'model: {model_path: owner/model, max_model_len: 64}\n';
    const sft = 'algorithm: {algorithm_type: sft}';
    const modes = (text: string, overrides?: Readonly<Record<string, unknown>>) =>
      parseConfig(top + text, { env: {}, engines, overrides }).config.stages.map(
        ({ mode }) => mode,
      );
    const alone = `mode: train\n${sft}\nbuffer: {total_steps: 1, train_batch_size: 2, ${rows}, ${sets}}`;
    expect(modes(alone, { mode: 'bench' })).toEqual(['bench']);
    const warm = `{stage_name: warm, mode: train, buffer: {total_steps: 1, train_batch_size: 2, ${rows}}}`;
    const staged = `${sft}\nstages: [${warm}, {stage_name: test, mode: bench, buffer: {${sets}}}]`;
    expect(modes(staged)).toEqual(['train', 'bench']);
    expect(modes(staged, { mode: 'bench' })).toEqual(['bench']);
  });

  it('are warned of key by key in a file with stages', () => {
    const { warnings } = parseConfig(
      'model: {model_path: owner/model, max_model_len: 64}\nbuffer: {explorer_input: {taskset: {path: owner/rows, default_workflow_type: w}}}\nstages: [{stage_name: a}, {stage_name: b}]',
      {
        env: {},
        engines,
        overrides: {
          synchronizer: { trainer_sync_interval: 3 },
          algorithm: { rollout_correction: { rollout_is: 'token' } },
        },
      },
    );
    expect(warnings.toSorted()).toEqual([
      expect.stringContaining('algorithm.rollout_correction.rollout_is: ignored'),
      expect.stringContaining('synchronizer.trainer_sync_interval: ignored'),
    ]);
  });

  it('stand alone when the file says nothing', () => {
    expect(problems('{}', { model: { model_path: '' } })).toEqual(
      expect.arrayContaining([expect.stringMatching(/^tune\(\): model\.model_path: is not set/)]),
    );
  });
});
