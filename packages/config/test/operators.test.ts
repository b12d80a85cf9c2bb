import { describe, expect, it } from 'vitest';
import { createWorkspace, parse, problems, yaml } from './workspace.js';

const cwd = createWorkspace();
const operators = (indent = ''): string =>
  `${indent}data_processor:\n${indent}  experience_pipeline:\n${indent}    operators: [{name: reward_std_filter, args: {threshold: 0.5}}]`;
const buffer =
  'buffer:\n  train_batch_size: 1\n  trainer_input:\n    experience_buffer: { path: ./tasks.jsonl }';
const sft = { top: 'mode: train', algorithm: 'algorithm:\n  algorithm_type: sft', buffer };
const operatorsOf = (text: string) =>
  parse(cwd, text).config.stages.map(
    ({ dataProcessor }) => dataProcessor.experiencePipeline.operators,
  );

describe('operators in mode train', () => {
  it('are ignored with a warning where they stand, which says why and what to do', () => {
    const text = yaml({ ...sft, rest: operators() });
    const line = text.split('\n').findIndex((each) => each.includes('operators:')) + 1;
    expect(parse(cwd, text).warnings).toEqual([
      expect.stringMatching(
        new RegExp(
          String.raw`^run\.yaml:${line}:5 data_processor\.experience_pipeline\.operators: ignored\. Mode train.*before they are stored.*remove the key`,
        ),
      ),
    ]);
    expect(operatorsOf(text)).toEqual([[]]);
  });

  it('are checked all the same', () => {
    const rest = operators().replace('threshold', 'treshold');
    expect(problems(cwd, yaml({ ...sft, rest })).map(({ key }) => key)).toEqual([
      'data_processor.experience_pipeline.operators[0].args.treshold',
    ]);
  });

  it('are not warned of where there are none', () => {
    const rest = 'data_processor:\n  experience_pipeline:\n    operators: []';
    expect(parse(cwd, yaml({ ...sft, rest })).warnings).toEqual([]);
    expect(parse(cwd, yaml({ rest: operators() })).warnings).toEqual([]);
  });

  it('are for the stages that explore where the top level has them', () => {
    const warmup = `  - stage_name: warmup\n    mode: train\n    algorithm: {algorithm_type: sft}\n${buffer.replace(/^/gm, '    ')}`;
    const rest = `${operators()}\nstages:\n${warmup}\n  - stage_name: rl`;
    const text = yaml({ rest });
    expect(parse(cwd, text).warnings).toEqual([]);
    expect(operatorsOf(text).map((each) => each.length)).toEqual([0, 1]);
    const own = yaml({ rest: `stages:\n${warmup}\n${operators('    ')}\n  - stage_name: rl` });
    expect(parse(cwd, own).warnings).toEqual([
      expect.stringContaining('operators: ignored. Mode train'),
    ]);
  });
});
