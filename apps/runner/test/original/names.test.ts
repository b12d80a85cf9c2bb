// Checks that every name of Trinity-RFT 0.6.0 is available, read as another name, or refused with
// the replacement.
import { readFileSync } from 'node:fs';
import { builtInTables } from '@trinity-rft/algorithm';
import { parseConfig, problemsOf } from '@trinity-rft/config';
import { loadExtensions } from '@trinity-rft/launcher/parts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProgram } from '../../src/program.js';
import { mainHere } from '../support/main-here.js';

type Names = Readonly<Record<string, string>>;

interface Original extends Readonly<
  Record<'workflows' | 'rewardFns' | 'monitors' | 'selectors' | 'priorityFns', Names>
> {
  readonly arguments: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  readonly workflowArguments: Readonly<Record<string, readonly string[]>>;
  readonly commands: Readonly<Record<string, readonly string[]>>;
  readonly keys: readonly string[];
}

const original = JSON.parse(
  readFileSync(new URL('../../../../tools/fixtures/trinity-names.json', import.meta.url), 'utf8'),
) as Original & Readonly<Record<string, Names>>;

let extensions: Awaited<ReturnType<typeof loadExtensions>>;
beforeAll(async () => {
  extensions = await loadExtensions({});
});
afterAll(async () => {
  await extensions.environments.close();
});

/** All warnings or problems that checking a configuration reports. */
function messagesOf(tree: unknown): readonly string[] {
  try {
    return parseConfig(JSON.stringify(tree), { ...extensions, env: {} }).warnings;
  } catch (error) {
    return problemsOf(error).map(({ key, message }) => `${key}: ${message}`);
  }
}

/**
 * Configuration with one key; `*` in the key stands for list items or section values.
 * @param value value of the key. @default null
 */
function treeWith(key: string, value: unknown = null): unknown {
  const named =
    /^(?:data_processor\.experience_pipeline\.inputs|buffer\.trainer_input\.auxiliary_buffers)$/;
  const build = (path: string, rest: readonly string[]): unknown => {
    const [part, ...more] = rest;
    if (part === undefined) return value;
    if (part === '*') return named.test(path) ? { x: build(path, more) } : [build(path, more)];
    return { [part]: build(path === '' ? part : `${path}.${part}`, more) };
  };
  return build('', key.split('.'));
}

/** Merges `over` into `base`, section by section. */
const overlay = (base: unknown, over: unknown): unknown =>
  isTree(base) && isTree(over)
    ? Object.fromEntries(
        [...new Set([...Object.keys(base), ...Object.keys(over)])].map((key) => [
          key,
          key in base && key in over ? overlay(base[key], over[key]) : { ...base, ...over }[key],
        ]),
      )
    : Array.isArray(base) && Array.isArray(over)
      ? [overlay(base[0], over[0])]
      : (over ?? base);

const isTree = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Matches the end of a refusal, which names the replacement. */
const instead = /\b(?:Use|Declare)\b/;

const partKeys = {
  presets: 'algorithm.algorithm_type',
  advantageFns: 'algorithm.advantage_fn',
  policyLossFns: 'algorithm.policy_loss_fn',
  klFns: 'algorithm.kl_loss_fn',
  entropyLossFns: 'algorithm.entropy_loss_fn',
  sampleStrategies: 'algorithm.sample_strategy',
  operators: 'data_processor.experience_pipeline.operators.*.name',
} as const;

const values = {
  monitors: 'monitor.monitor_type',
  selectors: 'buffer.explorer_input.taskset.data_selector.selector_type',
  priorityFns: 'buffer.trainer_input.experience_buffer.replay_buffer.priority_fn',
} as const;

/** Argument names of a part in our tables, by its YAML name; undefined for an unknown part. */
function argsOf(kind: string, name: string): readonly string[] | undefined {
  const tables = builtInTables as unknown as Readonly<
    Record<string, Readonly<Record<string, { readonly args: object }>> | undefined>
  >;
  const row = tables[kind]?.[name];
  return (
    row &&
    Object.keys(row.args).map((arg) =>
      arg.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    )
  );
}

describe('Trinity-RFT 0.6.0', () => {
  it('has no key that is unknown here', () => {
    const whole = original.keys.map((key) => treeWith(key)).reduce(overlay);
    const unknown = messagesOf(whole).filter((message) => message.includes('unknown key'));
    expect(unknown).toEqual([]);
    expect(messagesOf(treeWith('buffer.trainer_input.experience_buffer.x')).join()).toContain(
      'unknown key "x"',
    );
  });

  it.each(['workflows', 'rewardFns'] as const)(
    'has %s that run here, or are refused with what to use instead, by name and by class',
    (kind) => {
      const registry = extensions[kind];
      const lost = Object.entries(original[kind])
        .flat()
        .filter((name) => !registry.has(name) && !instead.test(registry.refusal(name) ?? ''));
      expect(lost).toEqual([]);
      for (const [name, path] of Object.entries(original[kind]))
        expect([path, registry.has(path)]).toEqual([path, registry.has(name)]);
    },
  );

  it.each(Object.entries(partKeys))('has %s that run here, or are refused', (kind, key) => {
    const table = builtInTables[kind as keyof typeof builtInTables];
    const lost = Object.keys(original[kind] ?? {})
      .filter((name) => !Object.hasOwn(table, name))
      .filter((name) => !messagesOf(treeWith(key, name)).some((message) => instead.test(message)));
    expect(lost).toEqual([]);
  });

  it('has no argument of a part that is unknown here', () => {
    const lost = Object.entries(original.arguments).flatMap(([kind, parts]) =>
      Object.entries(parts).flatMap(([name, args]) => {
        const known = argsOf(kind, name);
        return args.filter((arg) => known?.includes(arg) === false).map((arg) => [kind, name, arg]);
      }),
    );
    expect(lost).toEqual([]);
  });

  it('has no argument of a workflow that is unknown here', () => {
    const lost = Object.entries(original.workflows).flatMap(([name, path]) => {
      const module = path.split('.').slice(1, -1).join('/');
      const args = original.workflowArguments[`${module}.py`] ?? [];
      return args
        .filter((arg) => {
          const problems = extensions.workflows.find(name)?.checkArgs?.({ [arg]: null }) ?? [];
          return problems.some(({ message }) => /unknown|unrecognized/i.test(message));
        })
        .map((arg) => `${name}: ${arg}`);
    });
    expect(lost).toEqual([]);
  });

  it.each(Object.entries(values))('has no %s that is unknown here', (kind, key) => {
    for (const name of Object.keys(original[kind] ?? {})) {
      const said = messagesOf(treeWith(key, name)).filter((message) =>
        message.includes('expected'),
      );
      expect([name, said]).toEqual([name, []]);
    }
  });

  it('has no command or option that is unknown here without what to use instead', async () => {
    const lines = Object.entries(original.commands).flatMap(([name, options]) =>
      options.map((option) => [name, option]),
    );
    const said = await Promise.all(
      lines.map(async ([name = '', option = '']) => {
        const program = createProgram(
          { out: () => undefined, err: () => undefined },
          () => () => Promise.resolve(),
        );
        const known = program.commands
          .find((each) => each.name() === name)
          ?.options.some(({ long }) => long === option);
        if (known === true) return '';
        const { stdout, stderr } = await mainHere(name, option);
        const text = stdout + stderr;
        return /unknown [\s\S]*\.\n$/.test(text) ? '' : `${name} ${option}: ${text}`;
      }),
    );
    expect(said.filter((text) => text !== '')).toEqual([]);
  });
});
