import { execFile } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { ConfigError, RewardError } from '@trinity-rft/core';
import { afterEach, describe, expect, it } from 'vitest';
import { createRewardFn } from '../create.js';
import { checkBoxedAnswer, checkMathAnswer } from '../math/check.js';
import { createMathChecker, sharedMathChecker } from './checker.js';
import { type GivenUp, type MathChecker, type MathCheckerOptions } from './types.js';
import type { MathPair } from './rules.js';

/**
 * A set of 26 sets of 26 sets of 26 numbers. Two of them differ in one number of each set and have
 * opposite orders, so that the search for equal elements goes through all of them at each depth.
 */
const nestedSet = (label: number, isReversed: boolean, depth = 3): string => {
  if (depth === 0) return String(label);
  const size = 26;
  const items = Array.from({ length: size }, (_, index) =>
    nestedSet(index < size - 1 ? index : size + label, isReversed, depth - 1),
  );
  return `\\{${(isReversed ? items.toReversed() : items).join(',')}\\}`;
};
/** A pair that takes minutes but little memory; only compared without a limit on the length. */
const slow: MathPair = {
  rule: 'same',
  response: nestedSet(0, false),
  truth: nestedSet(1, true),
};
/** Pairs that are not decided on the calling thread. */
const half: MathPair = { rule: 'boxed', response: 'So \\boxed{\\frac{1}{2}}.', truth: '0.5' };
const third: MathPair = { rule: 'answer', response: 'The answer is \\frac{1}{3}', truth: '0.5' };

const opened: MathChecker[] = [];
const open = (options: MathCheckerOptions = {}): MathChecker => {
  const checker = createMathChecker(options);
  opened.push(checker);
  return checker;
};
/**
 * Time in ms, much less than the slow pair takes, and much more than other pairs take on a busy
 * machine.
 */
const soonMs = 1000;
/** Reads answers of any length, so that one can be slow. */
const unlimited = (deadlineMs: number): MathChecker =>
  open({ deadlineMs, maxAnswerLength: 10_000_000 });

afterEach(async () => {
  for (const checker of opened.splice(0)) await checker.close();
});

describe('a math checker', () => {
  it.each([
    [half, true],
    [third, false],
    [{ rule: 'answer', response: 'I do not know.', truth: '4' }, false],
    [{ rule: 'answer', response: `${'Hm. '.repeat(300)} The answer is 4.`, truth: '#### 4' }, true],
    [{ rule: 'same', response: 'x+1', truth: '1+x' }, true],
    [{ rule: 'trinity_boxed', response: '\\boxed{\\frac12}', truth: '\\frac{1}{2}' }, true],
    [{ rule: 'trinity_eval', response: 'The answer is 50', truth: '0.5' }, true],
    [{ rule: 'trinity_dapo', response: '\\boxed{\\frac{1}{2}}', truth: '0.5' }, true],
    [{ rule: 'trinity_dapo', response: '\\boxed{\\frac{1}{2}}', truth: '\\pi' }, false],
  ] as const)('finds what its rule finds: %j', async (pair, equal) => {
    expect(await sharedMathChecker.check(pair)).toEqual({ equal });
  });

  it('agrees with the functions that it calls, whichever thread decides', async () => {
    const checker = open();
    const answers = [
      '4',
      '-4',
      '+4',
      '4.0',
      '1/2',
      '0.5',
      'x = 4',
      '007',
      '7',
      '-0',
      '0',
      '',
      'four',
      '1,000',
      '1e3',
      '400%',
      '.5',
      '5.',
    ];
    for (const response of answers.flatMap((each) => [
      each,
      `So \\boxed{${each}}`,
      `<answer>${each}</answer>`,
      `#### ${each}`,
    ])) {
      for (const truth of answers) {
        expect(await checker.check({ rule: 'answer', response, truth })).toEqual({
          equal: checkMathAnswer(response, truth),
        });
        expect(await checker.check({ rule: 'boxed', response, truth })).toEqual({
          equal: checkBoxedAnswer(response, truth),
        });
      }
    }
  });

  it('decides what is cheap at once, without waiting for the thread', async () => {
    const checker = unlimited(60_000);
    void checker.check(slow).catch(() => undefined);
    expect(
      await checker.check({ rule: 'answer', response: 'The answer is 4.', truth: '5' }),
    ).toEqual({ equal: false });
    expect(
      await checker.check({
        rule: 'boxed',
        response: '\\boxed{\\frac{1}{2}}',
        truth: '\\frac{1}{2}',
      }),
    ).toEqual({ equal: true });
  });

  it('takes turns: answers come in the order of the questions', async () => {
    const checker = open();
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const { equal } = await checker.check({
          rule: 'same',
          response: `x+${index}`,
          truth: `${index % 2 === 0 ? index : -1}+x`,
        });
        expect(equal).toBe(index % 2 === 0);
        order.push(index);
      }),
    );
    expect(order).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  it.each([
    { deadlineMs: 0 },
    { deadlineMs: Number.NaN },
    { deadlineMs: Infinity },
    { maxAnswerLength: -1 },
  ])('rejects %j', (options) => {
    expect(() => createMathChecker(options)).toThrow(ConfigError);
  });
});

describe('an answer that takes too long', () => {
  it('counts as wrong, with the reason, soon after the deadline', async () => {
    const checker = unlimited(soonMs);
    await checker.check(half);
    const begun = performance.now();
    expect(await checker.check(slow)).toEqual({ equal: false, reason: 'deadline' });
    expect(performance.now() - begun).toBeGreaterThanOrEqual(0.75 * soonMs);
  });

  it('costs the others nothing but time: they are asked again of a new thread, in order', async () => {
    const checker = unlimited(soonMs);
    const pairs = [half, slow, third, half, slow, half];
    const order: number[] = [];
    const verdicts = await Promise.all(
      pairs.map(async (pair, index) => {
        const verdict = await checker.check(pair);
        order.push(index);
        return verdict;
      }),
    );
    const late = { equal: false, reason: 'deadline' };
    expect(verdicts).toEqual([
      { equal: true },
      late,
      { equal: false },
      { equal: true },
      late,
      { equal: true },
    ]);
    expect(order).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('is reported to listeners, without its text', async () => {
    const checker = unlimited(soonMs);
    const reported: GivenUp[] = [];
    const stop = checker.onGivenUp((givenUp) => reported.push(givenUp));
    await checker.check(slow);
    const pattern: MathPair = { rule: 'pattern', response: `${'a'.repeat(60)}!`, truth: '(a+)+$' };
    expect(await checker.check(pattern)).toEqual({ equal: false, reason: 'deadline' });
    stop();
    await checker.check(slow);
    expect(reported).toEqual([
      { reason: 'deadline', deadlineMs: soonMs, responseLength: slow.response.length },
    ]);
  });

  it('is one that the thread works on, not one whose asker was busy', async () => {
    const checker = open({ deadlineMs: soonMs });
    await checker.check(half);
    const answer = checker.check(half);
    const until = performance.now() + 2 * soonMs;
    while (performance.now() < until);
    expect(await answer).toEqual({ equal: true });
  });

  it('makes a reward that of a wrong answer, and ends no run', async () => {
    const mathChecker = unlimited(soonMs);
    const input = { truth: slow.truth, prompt: undefined, rawTask: {} };
    const reward = createRewardFn('math_boxed_reward', {}, { mathChecker });
    expect(await reward({ ...input, response: `\\boxed{${slow.response}}` })).toEqual({
      accuracy: 0,
      format_score: 0,
    });
    expect(await reward({ ...input, response: `\\boxed{${slow.truth}}` })).toEqual({
      accuracy: 1,
      format_score: 0,
    });
  });
});

describe('an answer that breaks the comparison', () => {
  it('counts as wrong where it is deeper than the stack', async () => {
    const checker = unlimited(60_000);
    const reported: GivenUp[] = [];
    checker.onGivenUp((givenUp) => reported.push(givenUp));
    const deep: MathPair = { rule: 'same', response: '1+'.repeat(100_000) + 'x', truth: '7' };
    expect(await checker.check(deep)).toEqual({ equal: false, reason: 'failed' });
    expect(reported).toMatchObject([{ reason: 'failed' }]);
    expect(await checker.check(half)).toEqual({ equal: true });
  });

  it('counts as wrong where it takes all the memory of the thread, and the others are asked again', async () => {
    const checker = unlimited(60_000);
    const huge: MathPair = { rule: 'same', response: `{${'x_{1},'.repeat(200_000)}1}`, truth: '7' };
    expect(await Promise.all([checker.check(huge), checker.check(half)])).toEqual([
      { equal: false, reason: 'failed' },
      { equal: true },
    ]);
  });
});

describe('a wait for an answer', () => {
  it('ends when its signal aborts; the others continue', async () => {
    const checker = unlimited(soonMs);
    const abort = new AbortController();
    const waiting = [checker.check(slow, abort.signal), checker.check(half)];
    const cause = new Error('enough');
    abort.abort(cause);
    await expect(waiting[0]).rejects.toMatchObject({
      name: 'CancelledError',
      reason: 'aborted',
      cause,
    });
    expect(await waiting[1]).toEqual({ equal: true });
    await expect(checker.check(half, abort.signal)).rejects.toMatchObject({
      code: 'MATH_CHECK_CANCELLED',
    });
  });

  it('ends when the checker is closed, which then takes no more questions', async () => {
    const checker = unlimited(60_000);
    const waiting = Promise.allSettled([checker.check(slow), checker.check(half)]);
    await checker.close();
    const cancelled = {
      status: 'rejected',
      reason: { name: 'CancelledError', reason: 'shutdown' },
    };
    expect(await waiting).toMatchObject([cancelled, cancelled]);
    await expect(checker.check(half)).rejects.toThrow(RewardError);
    await checker.close();
  });
});

describe('the thread', () => {
  const register = new URL('../../../../../tools/register-source.mjs', import.meta.url).href;
  /** Runs a module in a separate process, from the sources. */
  const runModule = (code: string) =>
    promisify(execFile)(
      process.execPath,
      [
        '--conditions=@trinity-rft/source',
        `--import=${register}`,
        '--input-type=module',
        '--eval',
        code,
      ],
      { timeout: 100_000 },
    );
  const source = (entry: string) => JSON.stringify(new URL(`../${entry}.ts`, import.meta.url).href);

  it('holds the process while there is something to compare, and not afterwards, although it is never closed', async () => {
    const { stdout } = await runModule(`
      import { sharedMathChecker } from ${source('checker/checker')};
      const pair = ${JSON.stringify(half)};
      console.log(JSON.stringify(await sharedMathChecker.check(pair)), JSON.stringify(await sharedMathChecker.check(pair)));
    `);
    expect(stdout).toBe('{"equal":true} {"equal":true}\n');
  });

  it('ends when the checker is closed: no handle is left', async () => {
    const { stdout } = await runModule(`
      import { createMathChecker } from ${source('index')};
      const checker = createMathChecker({ deadlineMs: ${soonMs}, maxAnswerLength: 1e7 });
      await checker.check(${JSON.stringify(half)});
      console.log(JSON.stringify(await checker.check(${JSON.stringify(slow)})));
      await checker.check(${JSON.stringify(half)});
      await checker.close();
      await new Promise((resolve) => setTimeout(resolve, 0));
      console.log(process.getActiveResourcesInfo().filter((each) => /Worker|MessagePort|Timeout/.test(each)).join());
    `);
    expect(stdout).toBe('{"equal":false,"reason":"deadline"}\n\n');
  });
});
