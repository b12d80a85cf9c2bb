import fc from 'fast-check';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { readYaml, setInYaml, type KeyPath } from '../page/pages/builder/yaml-edit.js';

const text = `# What it is for.
name: first # its name

model: { model_path: ./model, max_prompt_tokens: 16 } # small
buffer:
  batch_size: 1.0e+1
  # where tasks come from
  explorer_input:
    taskset:
      path: 'tasks.jsonl'
  total_steps: 5 # short
stages:
  - stage_name: a
    mode: train
  - { stage_name: b }
`;

/** Lines that occur in only one of the two texts. */
function changes(before: string, after: string): readonly string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `-${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+${line}`),
  ];
}

describe('a setting in a YAML text', () => {
  it.each<[KeyPath, unknown, readonly string[]]>([
    [['name'], 'second', ['-name: first # its name', '+name: second # its name']],
    [['name'], undefined, ['-name: first # its name']],
    [
      ['model', 'lora'],
      true,
      [
        '-model: { model_path: ./model, max_prompt_tokens: 16 } # small',
        '+model: { model_path: ./model, max_prompt_tokens: 16, lora: true } # small',
      ],
    ],
    [['buffer', 'batch_size'], 20, ['-  batch_size: 1.0e+1', '+  batch_size: 20']],
    [['buffer', 'total_steps'], undefined, ['-  total_steps: 5 # short']],
    [['buffer', 'total_epochs'], 2, ['+  total_epochs: 2']],
    [
      ['buffer', 'explorer_input', 'taskset', 'format', 'prompt_key'],
      'q: "x" #',
      ['+      format:', '+        prompt_key: \'q: "x" #\''],
    ],
    [['stages', 0, 'seed'], 3, ['+    seed: 3']],
    [
      ['stages', 1, 'mode'],
      'both',
      ['-  - { stage_name: b }', '+  - { stage_name: b, mode: both }'],
    ],
    [['trainer', 'save_interval'], 4, ['+trainer:', '+  save_interval: 4']],
  ])('%j = %j changes only its lines', (path, value, expected) => {
    expect(changes(text, setInYaml(text, path, value))).toEqual(expected);
  });

  it('begins an empty text', () => {
    expect(setInYaml('', ['buffer', 'batch_size'], 4)).toBe('buffer:\n  batch_size: 4\n');
    expect(setInYaml('# only a comment', ['name'], 'x')).toBe('# only a comment\nname: x\n');
  });

  it.each([
    ['mode: both\nmodel:\n', 'mode: both\nmodel:\n  model_path: x\n'],
    ['model:\n  # a comment\nname: y\n', 'model:\n  # a comment\n  model_path: x\nname: y\n'],
    ['model: &m\nb: *m\n', 'model: &m\n  model_path: x\nb: *m\n'],
  ])('fills the empty section of %j', (before, after) => {
    expect(setInYaml(before, ['model', 'model_path'], 'x')).toBe(after);
  });

  it('fills an empty section several levels deep', () => {
    const set = (...path: KeyPath) => setInYaml('buffer:\n', ['buffer', 'input', ...path], 'x');
    expect(set('taskset', 'path')).toBe('buffer:\n  input:\n    taskset:\n      path: x\n');
    expect(set('sets', 0, 'path')).toBe('buffer:\n  input:\n    sets:\n      - path: x\n');
  });

  it('does not replace a value by a section', () => {
    const set = (before: string) => () => setInYaml(before, ['model', 'model_path'], 'x');
    expect(set('model: 3')).toThrow(
      'model is not a section. Remove its value, so that model.model_path can be set',
    );
    expect(set('a: &a {}\nmodel: *a')).toThrow('model is not a section.');
  });

  it('names an alias without an anchor', () => {
    expect(readYaml('a: &base {}\nmodel: *b').problem).toMatch(/^Unresolved alias/);
  });

  it('is what was set, whatever it is, and keeps every comment', () => {
    const key = fc.constantFrom(
      'name',
      'model',
      'buffer',
      'explorer_input',
      'taskset',
      'path',
      'new',
    );
    const value = fc.oneof(
      fc.string(),
      // What a form holds: JSON.
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
      fc.boolean(),
      fc.array(fc.integer()),
    );
    fc.assert(
      fc.property(fc.array(key, { minLength: 1, maxLength: 3 }), value, (path, set) => {
        const before = parse(text) as Record<string, unknown>;
        // Below a value there is nothing to set.
        fc.pre(
          !path.slice(0, -1).some((_, i) => typeof at(before, path.slice(0, i + 1)) === 'string'),
        );
        const after = setInYaml(text, path, set);
        expect(at(readYaml(after).tree, path)).toEqual(set);
        const comments = path.includes('name') ? [] : ['# What it is for.', '# its name'];
        expect(comments.filter((comment) => !after.includes(comment))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

const at = (tree: unknown, path: KeyPath): unknown =>
  path.reduce<unknown>((each, part) => (each as Record<string, unknown> | undefined)?.[part], tree);
