import { createRandom } from '@trinity-rft/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareEvaluations, mcnemar, unmetExpectations } from './compare-evaluations.js';
import type { Evaluation } from './evaluate-run.js';
import { renderJUnit, renderMarkdown } from './render-evaluation.js';

/** Evaluation of one set: `values` has a list per task with one value per checkpoint. */
function evaluation(values: readonly (readonly number[])[], over: object = {}): Evaluation {
  const means = values.map((own) => own.reduce((sum, value) => sum + value, 0) / own.length);
  return {
    jobDirectory: '/runs/p/n',
    interrupted: false,
    sets: [
      {
        set: 'held out',
        key: 'accuracy',
        checkpoints: means.map((mean, step) => ({
          ...{ step, mean, names: [], directory: undefined, interval: undefined },
          ...{ failedRuns: 0, difference: undefined, metrics: { accuracy: mean, calls: 2 } },
        })),
        tasks: (values[0] ?? []).map((_, row) => ({
          row,
          digest: `d${row}`,
          prompt: `What is <${row}> & "so"?\u0000`,
          values: values.map((own) => own[row] ?? 0),
          answers: values.map((own) => (own[row] === -1 ? null : `answer ${own[row]}`)),
          reasons: values.map((own) => (own[row] === 0 ? 'accuracy: expected 1' : null)),
          seconds: values.map(() => 0.25),
        })),
        ...over,
      },
    ],
  };
}

const noFloor = new Map<string, number>();
const fell = (before: readonly number[], after: readonly number[], margin = 0) => {
  const both = evaluation([before, after]);
  return unmetExpectations(both, compareEvaluations(both), { lowest: noFloor, margin });
};

describe('a comparison', () => {
  it('is of the last checkpoint with the first one, or with the last one of a baseline', () => {
    const own = evaluation([
      [0, 1, 0, 0],
      [1, 1, 1, 0],
    ]);
    expect(compareEvaluations(own)[0]).toMatchObject({ before: 0.25, after: 0.75, mcnemar: 0.5 });
    const baseline = evaluation([
      [0, 0, 0, 0],
      [0, 1, 1, 1],
    ]);
    const [compared] = compareEvaluations(own, baseline);
    expect(compared).toMatchObject({ before: 0.75, difference: { better: 1, worse: 1, same: 2 } });
    expect(compared?.flips.map(({ row, answers }) => [row, answers])).toEqual([
      [0, ['answer 0', 'answer 1']],
      [3, ['answer 1', 'answer 0']],
    ]);
  });

  it.each([
    ['set', { set: 'other' }, 'it has no set held out, only other'],
    ['metric', { key: 'reward' }, 'set held out has reward there, and accuracy here'],
    ['number of tasks', { tasks: [] }, 'set held out has 0 tasks there, and 2 here'],
  ])('is refused for another %s', (_, over, message) => {
    const own = evaluation([[0, 1]]);
    expect(() => compareEvaluations(own, evaluation([[0, 1]], over))).toThrow(message);
  });

  it('is refused for sets of the baseline that are missing', () => {
    const own = evaluation([[0, 1]]);
    const [set] = own.sets;
    const baseline = { ...own, sets: [set!, { ...set!, set: 'hard' }, { ...set!, set: 'long' }] };
    expect(() => compareEvaluations(own, baseline)).toThrow(
      'its sets hard, long are not evaluated here',
    );
  });

  it('is refused for another task', () => {
    const own = evaluation([[0, 1]]);
    const other = structuredClone(own);
    Object.assign(other.sets[0]!.tasks[1]!, { digest: 'x' });
    expect(() => compareEvaluations(own, other)).toThrow('row 1 of set held out has changed');
  });
});

describe('expectations', () => {
  it('are not met by a seeded regression, and by noise in fewer than 5 of 100 seeds', () => {
    const drawn = (seed: number, share: number): readonly number[] => {
      const random = createRandom(seed);
      return Array.from({ length: 80 }, () => Number(random.next() < share));
    };
    const seeds = Array.from({ length: 100 }, (_, i) => i + 1);
    const noise = seeds.filter(
      (seed) => fell(drawn(seed, 0.7), drawn(seed + 1000, 0.7)).length > 0,
    );
    expect(noise.length).toBeLessThanOrEqual(5);
    for (const seed of seeds) {
      const before = drawn(seed, 0.9);
      expect(
        fell(
          before,
          before.map((value, i) => (i % 4 === 0 ? 0 : value)),
        ),
      ).toHaveLength(1);
    }
  });

  it('allow a margin, and name figures', () => {
    const [before, after] = [
      Array.from({ length: 40 }, () => 1),
      Array.from({ length: 40 }, (_, i) => (i % 10 ? 1 : 0)),
    ];
    expect(fell(before, after)[0]).toMatch(
      /^held out: accuracy fell from 1\.000 to 0\.900; the 95 % interval of the difference is -0\.197 to -0\.003, and at most 0 is allowed/,
    );
    expect(fell(before, after, 0.05)).toEqual([]);
  });

  it('cannot tell a fall of one task', () => {
    expect(() => fell([1], [0])).toThrow('set held out has too few tasks');
  });

  it('are lowest means of metrics that are reported', () => {
    const own = evaluation([[0, 1]]);
    const unmet = (key: string, least: number) =>
      unmetExpectations(own, [], { lowest: new Map([[key, least]]) });
    expect(unmet('accuracy', 0.5)).toEqual([]);
    expect(unmet('accuracy', 0.6)).toEqual([
      'held out: accuracy is 0.500, below 0.6 (--fail-below).',
    ]);
    expect(() => unmet('cost', 1)).toThrow('no set reports cost. Reported are accuracy, calls.');
  });
});

it('McNemar is the sum of the binomial tails, and 1 without a change', () => {
  expect([mcnemar(0, 0), mcnemar(5, 5)]).toEqual([1, 1]);
  expect(mcnemar(10, 0)).toBeCloseTo(2 / 1024, 12);
  expect(mcnemar(1900, 2100)).toBeCloseTo(0.00165, 5);
  expect(mcnemar(8, 2)).toBeCloseTo((2 * (1 + 10 + 45)) / 1024, 12);
  fc.assert(
    fc.property(fc.nat(2000), fc.nat(2000), (better, worse) => {
      const p = mcnemar(better, worse);
      expect(p >= 0 && p <= 1).toBe(true);
      expect(p).toBeCloseTo(mcnemar(worse, better), 12);
    }),
  );
});

describe('reports', () => {
  it('JUnit has a case for each task, with the reason of failures, and is XML', () => {
    const xml = renderJUnit(evaluation([[1, 0, -1]]));
    expect(xml).toContain(
      '<testsuite name="held out" tests="3" failures="1" errors="1" skipped="0" time="0.750">',
    );
    expect(xml).toContain('<testcase classname="held out" name="row 0" time="0.250"></testcase>');
    expect(xml).toContain(
      '<failure message="accuracy 0">Prompt:\nWhat is &lt;1&gt; &amp; &quot;so&quot;?\u{fffd}\n\nAnswer:\nanswer 0\n\nReason:\naccuracy: expected 1</failure>',
    );
    expect(xml).toContain('<error message="Every run failed.">');
  });

  it('JUnit never holds a sign that XML has no place for', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const xml = renderJUnit(evaluation([[0]], { set: text }));
        const name = /<testsuite name="([^"]*)"/.exec(xml)?.[1] ?? '';
        expect(name).not.toMatch(
          /[<>]|[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|&(?!(?:amp|lt|gt|quot|apos);)/u,
        );
      }),
    );
  });

  it('Markdown has a line for each set, and the worst changes first, in one line each', () => {
    const own = evaluation([
      [1, 0, 1],
      [0, 1, 1],
    ]);
    const text = renderMarkdown(own, compareEvaluations(own));
    expect(text).toContain(
      '| held out | accuracy | 0.667 | 0.667 | 0 (-2.484 to 2.484) | 1.0 | 1 / 1 / 1 |',
    );
    expect(text).toContain('- **held out row 0**, 1 → 0: What is \\<0\\> \\& "so"?');
    expect(text.indexOf('row 0')).toBeLessThan(text.indexOf('row 1'));
  });
});
