import { builtInTables, createAlgorithm } from '@trinity-rft/algorithm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { problemsOf, renderPlan, planConfig, type LoadedConfig } from '../src/index.js';
import { keysOf, schemaAt } from '../src/schema/introspect.js';
import { schemasOf } from '../src/schema/root.js';
import { createWorkspace, engines, parse, yaml } from './workspace.js';

const cwd = createWorkspace();

/** A file is either valid, or has problems with positions inside it; nothing else is thrown. */
function settles(text: string): void {
  expect(badProblems(text)).toEqual([]);
}

/** Problems of a file without a position inside the file or without a message, or another error. */
function badProblems(text: string): readonly unknown[] {
  try {
    renderPlan(planConfig(parse(cwd, text).config));
    return [];
  } catch (error) {
    const found = problemsOf(error);
    if (found.length === 0) return [error];
    const lines = text.split('\n').length;
    return found.filter(
      ({ line, column, message }) => line < 1 || line > lines || column < 1 || message === '',
    );
  }
}

const sample = yaml({
  rest: 'explorer:\n  eval_interval: ${synchronizer.sync_interval}\nsynchronizer: {sync_interval: 2}\nstages:\n  - stage_name: a\n  - stage_name: b\n    mode: bench\n',
});

describe('any text', () => {
  it('is valid or has problems with positions: a valid file with a piece cut out or put in', () => {
    const snippet = fc.oneof(
      fc.constantFrom(
        ':',
        '\n',
        '- ',
        '  ',
        '${',
        '}',
        '&a ',
        '*a',
        '"',
        '[',
        '{',
        '#',
        '<<: ',
        '\t',
        'null',
        '~',
        '!!str ',
        '|',
        '? ',
        '%',
      ),
      fc.string({ maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.nat(sample.length), fc.nat(6), snippet, (at, cut, put) =>
        settles(sample.slice(0, at) + put + sample.slice(at + cut)),
      ),
      { numRuns: 400 },
    );
  });

  it('is valid or has problems with positions: any value at any key', () => {
    const paths = allPaths();
    const value = fc.oneof(
      fc.constantFrom<unknown>(
        null,
        true,
        0,
        -1,
        1.5,
        1e9,
        '',
        'x',
        'none',
        [],
        {},
        [{}],
        { a: 1 },
        [[1]],
        '${name}',
        '__proto__',
      ),
      fc.jsonValue({ maxDepth: 2 }),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...paths), value), { minLength: 1, maxLength: 4 }),
        (changes) => {
          const file: Record<string, unknown> = {
            algorithm: { algorithm_type: 'grpo' },
            model: { model_path: './tiny' },
          };
          // The constants are shared: assigning into them would change later runs, or make a cycle.
          for (const [path, changed] of changes) assign(file, path, structuredClone(changed));
          settles(JSON.stringify(file, null, 1));
        },
      ),
      { numRuns: 400 },
    );
  });
});

/** The parts that a file may choose, with the specifications of their arguments. */
const choices = {
  advantage_fn: builtInTables.advantageFns,
  policy_loss_fn: builtInTables.policyLossFns,
  kl_loss_fn: builtInTables.klFns,
  kl_penalty_fn: builtInTables.klFns,
  entropy_loss_fn: builtInTables.entropyLossFns,
  sample_strategy: builtInTables.sampleStrategies,
} as const;

describe('any algorithm', () => {
  const value = fc.oneof(
    fc.constantFrom<unknown>(null, true, false, 0, 1, -1, 0.5, 2, 'none', 'k2', 'batch', []),
    fc.double(),
    fc.jsonValue({ maxDepth: 1 }),
  );
  const part = fc.constantFrom(...(Object.keys(choices) as (keyof typeof choices)[])).chain((key) =>
    fc.constantFrom(...Object.entries(choices[key])).chain(([name, { args }]) => {
      const names = Object.keys(args).map((arg) =>
        arg.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      );
      const given =
        names.length === 0
          ? fc.constant({})
          : fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 2 });
      return given.map((chosen) => ({ [key]: name, [`${key}_args`]: chosen }));
    }),
  );

  it('of known parts has problems with positions, or can be built from the result', () => {
    const type = fc.constantFrom(...Object.keys(builtInTables.presets));
    let built = 0;
    fc.assert(
      fc.property(type, fc.array(part, { maxLength: 3 }), (algorithm_type, parts) => {
        const experts = { sft_dataset: { path: './tasks.jsonl' } };
        const text = JSON.stringify({
          mode: builtInTables.presets[algorithm_type]?.schema === 'experience' ? 'both' : 'train',
          algorithm: Object.assign({ algorithm_type }, ...parts),
          model: { model_path: './tiny' },
          buffer: {
            batch_size: 4,
            explorer_input: { taskset: { path: './tasks.jsonl', default_workflow_type: 'w' } },
            trainer_input: {
              experience_buffer: { path: './tasks.jsonl' },
              auxiliary_buffers: experts,
            },
          },
        });
        expect(badProblems(text)).toEqual([]);
        const stage = understood(text)?.config.stages[0];
        if (stage === undefined) return;
        const { algorithm, trainer } = stage;
        const { needs } = createAlgorithm({
          ...algorithm,
          valueLoss: { cliprangeValue: trainer.critic.cliprangeValue },
        });
        expect(needs).toEqual(algorithm.needs);
        built++;
      }),
      { numRuns: 200 },
    );
    expect(built).toBeGreaterThan(5);
  });
});

function understood(text: string): LoadedConfig | undefined {
  try {
    return parse(cwd, text);
  } catch {
    return undefined;
  }
}

function allPaths(): readonly (readonly string[])[] {
  const schema = schemasOf({ algorithms: builtInTables, engines }).file;
  const found: string[][] = [];
  const walk = (path: string[]): void => {
    for (const key of keysOf(schemaAt(schema, path))) {
      found.push([...path, key]);
      walk([...path, key]);
    }
  };
  walk([]);
  return found;
}

function assign(file: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let section = file;
  for (const key of path.slice(0, -1)) {
    const next = section[key];
    section = (section[key] =
      typeof next === 'object' && next !== null && !Array.isArray(next) ? next : {}) as Record<
      string,
      unknown
    >;
  }
  section[path.at(-1) ?? ''] = value;
}
