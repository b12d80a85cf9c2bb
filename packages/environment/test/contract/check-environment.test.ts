import {
  checkEnvironment,
  defineEnvironment,
  nativeEnvironment,
  type EnvironmentDefinition,
  type EnvironmentOptions,
  type StepResult,
  type World,
} from '@trinity-rft/environment';
import { expect, it } from 'vitest';

/** World whose policy has to say a number, and "right" after "wait". */
const says = ({ answer }: Readonly<Record<string, unknown>>): World => {
  let waited = 0;
  return {
    observation: `Wait, then say ${String(answer)}.`,
    step: (action) => {
      const text = action.type === 'text' ? action.text : '';
      if (text === 'wait') waited++;
      if (text === 'wait') return { observation: 'You wait.', done: false };
      if (!/^\d+$/.test(text)) return { observation: 'Say a number.', refused: true, done: false };
      const isRight = waited > 0 && text === String(answer);
      return { observation: '', reward: Number(isRight), done: true };
    },
    grade: () => 0,
    stateKey: () => String(waited),
  };
};

type Change = (world: World) => World;

const define = (
  change: Change = (same) => same,
  over: Partial<EnvironmentOptions<unknown>> = {},
): EnvironmentDefinition =>
  defineEnvironment<unknown>({
    name: 'say',
    description: 'Say a number.',
    tasks: ({ split, count, seed }) =>
      Array.from({ length: count }, (_, i) => ({
        answer: (split === 'eval' ? 1 : 2) * 1e6 + seed * 1000 + i,
      })),
    open: () => nativeEnvironment(({ row }) => change(says(row))),
    solver: ({ row }) => {
      const left = ['wait', String(row['answer'])];
      return () => {
        const text = left.shift();
        return text === undefined ? undefined : { type: 'text', text };
      };
    },
    ...over,
  });

const failed = async (definition: EnvironmentDefinition): Promise<readonly string[]> => {
  const results = await checkEnvironment(definition, { timeoutMs: 100 });
  return results.flatMap(({ name, outcome, detail }) =>
    outcome === 'failed' ? [`${name}: ${detail}`] : [],
  );
};

it('passes an environment that keeps to the contract, and says what it found', async () => {
  const results = await checkEnvironment(define());
  expect(results.map(({ outcome }) => outcome)).toEqual(results.map(() => 'passed'));
  expect(results).toContainEqual({
    name: 'its solver earns a reward in every task',
    outcome: 'passed',
    detail: '20 of 20 tasks, mean reward 1.000',
  });
});

it('accepts fewer tasks than `count`, and says how many there are', async () => {
  const results = await checkEnvironment(define(undefined, { tasks: () => [{ answer: 1e6 }] }));
  expect(results[0]).toEqual({
    name: 'opens, and has tasks',
    outcome: 'passed',
    detail: '1 tasks, where `count` is 20',
  });
  expect(await failed(define(undefined, { tasks: () => [] }))).toContain(
    'opens, and has tasks: `tasks` returned no rows.',
  );
});

it('closes an environment that opens after the timeout', async () => {
  const begins = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<boolean>();
  const late = define(undefined, {
    open: async (_, { signal }) => {
      await begins.promise;
      const own = nativeEnvironment(({ row }) => says(row));
      return { ...own, close: async () => closed.resolve(signal.aborted) };
    },
  });
  expect(await failed(late)).toEqual(['opens, and has tasks: There was no answer within 0.1 s.']);
  begins.resolve();
  expect(await closed.promise).toBe(true);
});

it('closes an environment that cannot generate tasks', async () => {
  let closed = 0;
  const untasked = define(undefined, {
    open: () => ({
      ...nativeEnvironment(({ row }) => says(row)),
      close: async () => void closed++,
    }),
    tasks: () => {
      throw new RangeError('There are only 12 tasks.');
    },
  });
  expect(await failed(untasked)).toEqual(['opens, and has tasks: There are only 12 tasks.']);
  expect(closed).toBe(2);
});

it('closes every episode that begins after the timeout', async () => {
  const begins = Promise.withResolvers<void>();
  let [begun, closed] = [0, 0];
  const own = nativeEnvironment(({ row }) => ({ ...says(row), close: () => void closed++ }));
  const { signal } = new AbortController();
  const late = define(undefined, {
    open: () => ({
      ...own,
      reset: async (start) => {
        begun++;
        await begins.promise;
        return own.reset(start, signal);
      },
    }),
  });
  await failed(late);
  begins.resolve();
  await expect.poll(() => closed).toBe(begun);
});

it('adds the grade of an episode that reached a limit, as the play loop does', async () => {
  const graded = define((world) => ({
    ...world,
    step: async (action) => {
      const result = await world.step(action);
      return result.done ? { ...result, reward: 0, truncated: true } : result;
    },
    grade: () => (world.stateKey?.() === '1' ? 1 : 0),
  }));
  expect(await failed(graded)).toEqual([]);
});

let count = 0;
const after = (change: (result: StepResult) => object): Change => {
  return (world) => ({
    ...world,
    step: async (action) => {
      await world.step(action);
      const result = await world.step(action);
      return { ...result, ...change(result) };
    },
  });
};

it.each<[RegExp, EnvironmentDefinition]>([
  [
    /^equal starts .* differ: start\.observation is "\d" and "\d"$/,
    define((world) => ({ ...world, observation: `${count++}` })),
  ],
  [
    /^equal starts .* differ/,
    define(after(({ reward = 0 }) => ({ reward: reward > 0 ? reward : Math.random() / 2 }))),
  ],
  [
    /^a refused action .* is another after/,
    define((world) => ({ ...world, stateKey: () => String(count++) })),
  ],
  [/^its solver .* earns 0 in task 0/, define(after(() => ({ reward: 0 })))],
  [
    /^equal starts .* ended the episode without a reward or a grade/,
    define((world) => ({
      ...world,
      step: () => ({ observation: '', done: true }),
      grade: () => undefined,
    })),
  ],
  [/^its solver .* returned NaN as reward/, define(after(() => ({ reward: NaN })))],
  [
    /^empty and .* earns 0.5 in task 0, where the best is 0.35/,
    define(after(({ done }) => ({ reward: done ? 0.1 : 0.25 }))),
  ],
  [
    /^a step after the end is an error: .* was answered/,
    define(undefined, {
      open: () => ({
        reset: async ({ row }, signal) => {
          signal.throwIfAborted();
          const world = says(row);
          return {
            observation: world.observation,
            step: async (action) => world.step(action),
            grade: async () => 0,
            close: async () => undefined,
          };
        },
        close: async () => undefined,
      }),
    }),
  ],
  [
    /^it begins nothing once/,
    define(undefined, {
      open: () => {
        const own = nativeEnvironment(({ row }) => says(row));
        return { ...own, reset: (start) => own.reset(start, new AbortController().signal) };
      },
    }),
  ],
  [
    /^many episodes .* failed at reset: too many/,
    define(undefined, {
      open: () => {
        let open = 0;
        return nativeEnvironment(({ row }) => {
          if (++open > 50) throw new Error('too many');
          return { ...says(row), close: () => void open-- };
        });
      },
    }),
  ],
  [/^no task of one split .* in both splits/, define(undefined, { tasks: () => [{ answer: 1 }] })],
  [
    /^an episode closes, and closes again: gone/,
    define(undefined, {
      open: () => {
        const own = nativeEnvironment(({ row }) => says(row));
        const reset: typeof own.reset = async (start, signal) => {
          const episode = await own.reset(start, signal);
          let isClosed = false;
          const close = async (): Promise<void> => {
            if (isClosed) throw new Error('gone');
            isClosed = true;
          };
          return { ...episode, close };
        };
        return { ...own, reset };
      },
    }),
  ],
  [
    /^opens, and has tasks: no server/,
    define(undefined, { open: () => Promise.reject(new Error('no server')) }),
  ],
  [
    /^equal starts .* did not answer reset within 0.1 s/,
    define(undefined, {
      open: () => ({ reset: () => new Promise(() => undefined), close: async () => undefined }),
    }),
  ],
])('finds what breaks it: %s', async (message, definition) => {
  const failures = await failed(definition);
  expect(failures.find((each) => message.test(each)) ?? failures).toMatch(message);
});
