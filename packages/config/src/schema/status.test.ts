import { describe, expect, it } from 'vitest';
import { algorithmNames, algorithmRecipes, builtAlgorithms } from '../algorithm-defaults.js';
import { choicesOf, coreOf, defaultAt, keysOf, schemaAt } from './introspect.js';
import { keyAliases, movedKeys } from './renamed.js';
import { fileSchema, runSchema } from './root.js';
import { keyStatuses } from './status.js';

const pathOf = (pattern: string): readonly (string | number)[] => pattern.split('.').map((part) => (part === '*' ? 0 : part));

describe('the status table', () => {
  it.each(keyStatuses.map((row) => [`${row.path} ${row.status}`, row] as const))(
    '%s names a key of the schema, values that it takes, and what to do',
    (_, row) => {
      const schema = schemaAt(runSchema, pathOf(row.path));
      expect(schema).toBeDefined();
      const choices = choicesOf(schema);
      if (choices.length > 0) for (const value of row.values ?? []) expect(choices).toContain(value);
      expect(row.note).toMatch(/\.$/);
    },
  );

  it('leaves every default alone', () => {
    for (const row of keyStatuses) {
      const standard = defaultAt(runSchema, pathOf(row.path))?.value;
      // The original's default algorithm is not built; a file has to name one.
      if (row.path === 'algorithm.algorithm_type' || row.path.includes('trainer_config.')) continue;
      for (const value of row.values ?? []) expect(value, row.path).not.toEqual(standard);
      if (row.except !== undefined) expect(row.except, row.path).toContainEqual(standard);
    }
  });
});

describe('the schema', () => {
  it('describes every key', () => {
    const silent: string[] = [];
    const walk = (path: readonly string[]): void => {
      for (const key of keysOf(schemaAt(runSchema, path))) {
        const schema = schemaAt(runSchema, [...path, key]);
        if ((schema?.description ?? '') === '') silent.push([...path, key].join('.'));
        walk([...path, key]);
      }
    };
    walk([]);
    expect(silent).toEqual([]);
  });

  it('has every new name of an alias, and no old one', () => {
    for (const { section, from, to } of keyAliases) {
      const keys = keysOf(listItem(section));
      expect(keys, section.join('.')).toContain(to);
      if (from !== to) expect(keys, section.join('.')).not.toContain(from);
    }
    for (const path of Object.keys(movedKeys)) expect(schemaAt(fileSchema, path.split('.')), path).toBeUndefined();
  });

  it('knows the 21 algorithms of the original, three of them built', () => {
    const names =
      'sft dpo ppo grpo grpo_verl multi_step_grpo reinforceplusplus rloo opmd asymre topr cispo gspo sapo mix mix_chord raft sppo rec on_policy_distill jsd'.split(
        ' ',
      );
    expect(names).toHaveLength(21);
    expect(algorithmNames).toEqual(expect.arrayContaining(names));
    expect(builtAlgorithms.map((name) => [name, algorithmRecipes[name].repeatTimes])).toEqual([
      ['grpo', 2],
      ['multi_step_grpo', 8],
      ['sft', 1],
    ]);
  });
});

/** The section at a path, or of the items of a list there. */
function listItem(path: readonly string[]): ReturnType<typeof schemaAt> {
  const schema = schemaAt(fileSchema, path);
  return schema !== undefined && coreOf(schema).def.type === 'array' ? schemaAt(schema, [0]) : schema;
}
