import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  actionCount,
  assertAligned,
  createExperience,
  withFields,
  type Experience,
  type ExperienceInit,
} from './experience.js';
import { mergeCalls, spansOf } from './trajectory.js';

/** A call whose prompt and response are given; log-probabilities are minus its tokens. */
function call(
  step: number,
  prompt: readonly number[],
  response: readonly number[],
  over: Partial<ExperienceInit> = {},
): Experience {
  return createExperience({
    eid: { batch: 1, task: 2, run: 3, step, suffix: '0' },
    tokens: [...prompt, ...response],
    promptLength: prompt.length,
    logprobs: response.map((token) => -token),
    policyVersion: 4,
    temperature: 1,
    reward: step,
    ...over,
  });
}

const first = call(0, [1, 2], [3, 4]);
const second = call(1, [1, 2, 3, 4, 5], [6]);
const third = call(2, [1, 2, 3, 4, 5, 6], [7, 8]);

describe('mergeCalls', () => {
  it('makes one sequence of calls that continue each other, with what lies between them as context', () => {
    const { experiences, metrics } = mergeCalls([first, second, third]);
    expect(experiences).toHaveLength(1);
    expect(experiences[0]).toMatchObject({
      eid: { run: 3, step: 2 },
      tokens: Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8),
      promptLength: 2,
      actionMask: Uint8Array.of(1, 1, 0, 1, 1, 1),
      logprobs: Float32Array.of(-3, -4, 0, -6, -7, -8),
      reward: 2,
      spans: [
        { start: 0, end: 2, step: 0, policyVersion: 4, reward: 0 },
        { start: 3, end: 4, step: 1, policyVersion: 4, reward: 1 },
        { start: 4, end: 6, step: 2, policyVersion: 4, reward: 2 },
      ],
    });
    expect(metrics).toEqual({ merged: 2, tokens: 8, tokens_saved: 4 + 6 + 8 - 8 });
  });

  it('leaves a copy of a rollout apart from the rollout', () => {
    const other = call(0, [7], [8], { eid: { batch: 1, task: 2, run: 4, step: 0, suffix: '0' } });
    const copyOf = (of: Experience): Experience =>
      withFields(of, { eid: { ...of.eid, suffix: `${of.eid.suffix}+1` } });
    const branch = call(2, [1, 2, 9], [5]);
    const rollouts = [first, second, branch, other];
    const { experiences } = mergeCalls([...rollouts, ...rollouts.map(copyOf)]);
    expect(experiences.map(({ eid: { run, step, suffix } }) => [run, step, suffix])).toEqual([
      [3, 1, '0'],
      [3, 2, '0'],
      [4, 0, '0'],
      [3, 1, '0+1'],
      [3, 2, '0+1'],
      [4, 0, '0+1'],
    ]);
  });

  it('keeps which weights drew which tokens, where they changed within a call', () => {
    const versions = [
      { start: 0, end: 1, policyVersion: 4 },
      { start: 1, end: 2, policyVersion: 5 },
    ];
    const changed = withFields(third, { info: { ...third.info, versions } });
    const [sequence] = mergeCalls([first, second, changed]).experiences;
    expect(sequence?.info['versions']).toEqual([
      { start: 0, end: 2, policyVersion: 4 },
      { start: 3, end: 4, policyVersion: 4 },
      { start: 4, end: 5, policyVersion: 4 },
      { start: 5, end: 6, policyVersion: 5 },
    ]);
  });

  it('keeps when each call began and ended, if all calls have it', () => {
    const timed = (of: Experience, start: number): Experience =>
      withFields(of, { info: { times: [{ start, end: start + 5 }] } });
    const [sequence] = mergeCalls([
      timed(first, 0),
      timed(second, 7),
      timed(third, 20),
    ]).experiences;
    expect(sequence?.info['times']).toEqual([
      { start: 0, end: 5 },
      { start: 7, end: 12 },
      { start: 20, end: 25 },
    ]);
  });

  it('keeps advantages and masks of the calls', () => {
    const scored = [first, second].map((each, i) =>
      withFields(each, {
        advantages: Float32Array.from(each.logprobs, () => i + 1),
        returns: Float32Array.from(each.logprobs),
      }),
    );
    const [merged] = mergeCalls([
      withFields(scored[0]!, { actionMask: Uint8Array.of(0, 1) }),
      scored[1]!,
    ]).experiences;
    expect(merged).toMatchObject({
      actionMask: Uint8Array.of(0, 1, 0, 1),
      advantages: Float32Array.of(1, 1, 0, 2),
    });
  });

  it("keeps a teacher's opinion of every call, and keeps calls with and without one apart", () => {
    const taught = [first, second].map((each, i) =>
      withFields(each, { teacherLogprobs: Float32Array.from(each.logprobs, () => -i - 1) }),
    );
    expect(mergeCalls(taught).experiences).toMatchObject([
      { teacherLogprobs: Float32Array.of(-1, -1, 0, -2) },
    ]);
    expect(mergeCalls([taught[0]!, second]).metrics).toMatchObject({
      merged: 0,
      'split/fields': 1,
    });
  });

  it('trains a call that two others continue with the first of them', () => {
    const other = call(2, [1, 2, 3, 4, 9], [6]);
    const { experiences, metrics } = mergeCalls([first, second, other]);
    expect(
      experiences.map(({ promptLength, actionMask }) => [promptLength, [...actionMask]]),
    ).toEqual([
      [2, [1, 1, 0, 1]],
      [5, [1]],
    ]);
    expect(metrics).toMatchObject({ merged: 1, 'split/branched': 1 });
  });

  it('goes on with every choice of a call', () => {
    const choice = call(0, [1, 2], [3, 9], {
      eid: { batch: 1, task: 2, run: 3, step: 0, suffix: '1' },
    });
    const { experiences, metrics } = mergeCalls([
      first,
      choice,
      second,
      call(2, [1, 2, 3, 9], [5]),
    ]);
    expect(experiences.map(({ tokens }) => [...tokens])).toEqual([
      [1, 2, 3, 4, 5, 6],
      [1, 2, 3, 9, 5],
    ]);
    expect(metrics).toEqual({ merged: 2, tokens: 11, tokens_saved: 4 + 4 + 6 + 5 - 11 });
  });

  it('has the oldest policy version, and each call its own', () => {
    const [merged] = mergeCalls([first, withFields(second, { policyVersion: 7 })]).experiences;
    expect([
      merged!.policyVersion,
      merged!.spans!.map(({ policyVersion }) => policyVersion),
    ]).toEqual([4, [4, 7]]);
  });

  it.each<[string, Experience]>([
    ['temperature', call(1, [1, 2, 3, 4, 5], [6], { temperature: 0.5 })],
    ['new', call(1, [9], [6])],
    ['new', call(1, [1, 2, 3], [6])],
    ['reasoning_dropped', call(1, [1, 2, 4, 5], [6], { info: { fork: 'reasoning_dropped' } })],
    ['fields', withFields(second, { advantages: Float32Array.of(1) })],
  ])('says why calls stay apart: %s', (reason, other) => {
    const { experiences, metrics } = mergeCalls([first, other]);
    expect(experiences).toEqual([first, other]);
    expect(metrics).toMatchObject({ merged: 0, [`split/${reason}`]: 1, tokens_saved: 0 });
  });

  it('leaves calls of other runs alone, whatever their tokens', () => {
    const other = withFields(second, { eid: { ...second.eid, run: 4 } });
    expect(mergeCalls([first, other]).experiences).toEqual([first, other]);
  });

  it('keeps every sampled token of random trees exactly once, in its context', () => {
    const tree = fc.array(
      fc.record({
        parent: fc.nat(),
        bridge: fc.array(fc.nat(3), { maxLength: 3 }),
        said: fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }),
      }),
      {
        minLength: 1,
        maxLength: 8,
      },
    );
    fc.assert(
      fc.property(tree, (turns) => {
        const calls: Experience[] = [];
        turns.forEach(({ parent, bridge, said }, step) => {
          const base = step === 0 ? [0] : [...calls[parent % step]!.tokens];
          calls.push(call(step, [...base, ...bridge], said));
        });
        const { experiences } = mergeCalls(calls);
        experiences.forEach(assertAligned);
        const spans = experiences.flatMap((experience) =>
          spansOf(experience).map(({ start, end, step }) => ({
            step,
            from: experience.promptLength + start,
            to: experience.promptLength + end,
            tokens: experience.tokens,
          })),
        );
        expect(spans.map(({ step }) => step).toSorted((a, b) => a - b)).toEqual(
          calls.map(({ eid }) => eid.step),
        );
        for (const { step, from, to, tokens } of spans) {
          expect(from).toBe(calls[step]!.promptLength);
          expect(tokens.subarray(0, to)).toEqual(calls[step]!.tokens);
        }
        expect(experiences.reduce((sum, each) => sum + actionCount(each), 0)).toBe(
          calls.reduce((sum, each) => sum + actionCount(each), 0),
        );
      }),
    );
  });
});

describe('assertAligned', () => {
  it.each([
    ['holds [0, 3) after 0', [{ start: 0, end: 3 }]],
    [
      'holds [1, 2) after 2',
      [
        { start: 0, end: 2 },
        { start: 1, end: 2 },
      ],
    ],
    ['hold 1 of 2 trained tokens', [{ start: 0, end: 1 }]],
  ])('refuses spans that %s', (message, spans) => {
    const wrong = withFields(first, {
      spans: spans.map((span) => ({ ...span, step: 0, policyVersion: 4 })),
    });
    expect(() => assertAligned(wrong)).toThrow(message);
  });
});
