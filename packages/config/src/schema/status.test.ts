import { describe, expect, it } from 'vitest';
import { builtInTables } from '@trinity-rft/algorithm';
import { choicesOf, coreOf, defaultAt, keysOf, schemaAt } from './introspect.js';
import { keyAliases, movedKeys } from './aliases.js';
import { engines } from '../../test/workspace.js';
import { schemasOf } from './root.js';
import { statusesOf } from './status.js';

const { file: fileSchema, run: runSchema } = schemasOf({ algorithms: builtInTables, engines });
const keyStatuses = statusesOf(runSchema);

const pathOf = (pattern: string): readonly (string | number)[] =>
  pattern.split('.').map((part) => (part === '*' ? 0 : part));

describe('the statuses of keys', () => {
  it.each(keyStatuses.map((row) => [`${row.path} ${row.status}`, row] as const))(
    '%s names a key of the schema, values that it takes, and what to do',
    (_, row) => {
      const schema = schemaAt(runSchema, pathOf(row.path));
      const choices = choicesOf(schema);
      expect(schema).toBeDefined();
      expect(
        (row.values ?? []).filter(
          (value) => choices.length > 0 && !choices.includes(String(value)),
        ),
      ).toEqual([]);
      expect(row.note).toMatch(/\.$/);
    },
  );

  it('leaves every default alone', () => {
    const wrong = keyStatuses.filter((row) => {
      const standard = JSON.stringify(defaultAt(runSchema, pathOf(row.path))?.value);
      const has = (values: readonly unknown[]): boolean =>
        values.some((value) => JSON.stringify(value) === standard);
      return has(row.values ?? []) || (row.except !== undefined && !has(row.except));
    });
    // Nothing is known about the inside of free-form keys.
    expect(
      wrong.map(({ path }) => path).filter((path) => !path.includes('trainer_config.')),
    ).toEqual([]);
  });
});

describe('the schema', () => {
  it('describes every key', () => {
    const walk = (path: readonly string[]): readonly string[] =>
      keysOf(schemaAt(runSchema, path)).flatMap((key) => {
        const inner = [...path, key];
        const silent = (schemaAt(runSchema, inner)?.description ?? '') === '';
        return [...(silent ? [inner.join('.')] : []), ...walk(inner)];
      });
    expect(walk([])).toEqual([]);
  });

  it('has every new name of an alias, and no old one', () => {
    const keys = (section: readonly string[]): readonly string[] => keysOf(listItem(section));
    expect(keyAliases.filter(({ section, to }) => !keys(section).includes(to))).toEqual([]);
    expect(
      keyAliases.filter(({ section, from, to }) => from !== to && keys(section).includes(from)),
    ).toEqual([]);
    expect(
      Object.keys(movedKeys).filter((path) => schemaAt(fileSchema, path.split('.')) !== undefined),
    ).toEqual([]);
  });

  it('knows the 21 algorithms of the original, and the newer ones', () => {
    const names =
      'sft dpo ppo grpo grpo_verl multi_step_grpo reinforceplusplus rloo opmd asymre topr cispo gspo sapo mix mix_chord raft sppo rec on_policy_distill jsd dapo m2po gigpo'.split(
        ' ',
      );
    expect(Object.keys(builtInTables.presets)).toEqual(expect.arrayContaining(names));
    expect(choicesOf(schemaAt(runSchema, ['algorithm', 'algorithm_type']))).toEqual(
      expect.arrayContaining([...names, 'cod', 'cpt']),
    );
  });
});

/** The section at a path, or of the items of a list there. */
function listItem(path: readonly string[]): ReturnType<typeof schemaAt> {
  const schema = schemaAt(fileSchema, path);
  return schema !== undefined && coreOf(schema).def.type === 'array'
    ? schemaAt(schema, [0])
    : schema;
}
