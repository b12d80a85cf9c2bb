/**
 * The rewards beyond math: Trinity-RFT's results from `trinity-rewards.json`, and further cases.
 */
import { ConfigError, type RewardParts, RewardError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { createRewardFn } from '../../src/reward/index.js';
import { overlongPenalty } from '../../src/reward/rewards/shared/overlong.js';
import vectors from './trinity-rewards.json' with { type: 'json' };

interface Given {
  readonly response: string;
  readonly truth?: string;
  readonly responseTokens?: number;
}

const parts = async (
  name: string,
  args: Record<string, unknown>,
  given: Given,
): Promise<RewardParts> =>
  (await createRewardFn(
    name,
    args,
  )({ truth: undefined, prompt: undefined, rawTask: { answer: '' }, ...given })) as RewardParts;

describe('countdown_reward', () => {
  const { truth, cases } = vectors.countdown_reward;

  it.each(cases)('gives $score for $response', async ({ response, score }) => {
    expect(await parts('countdown_reward', {}, { response, truth })).toEqual({ score });
  });

  it.each([
    ['<answer>1</answer> <answer>(19 + 44) + 35</answer>', 1],
    ['<answer>44+19+35', 0],
    ['<answer>44+19+35</answer>\n', 0],
    ['<answer>044+19+35</answer>', 0.1],
    ['<answer>44(19)+35</answer>', 0.1],
    ['<answer>44/(19-19)+35</answer>', 0.1],
    ['<answer>__import__</answer>', 0.1],
    ['<answer>44**19**35</answer>', 0.1],
    [`<answer>${'('.repeat(10_000)}44+19+35${')'.repeat(10_000)}</answer>`, 0.1],
  ])('gives %s: %s', async (response, score) => {
    expect(await parts('countdown_reward', {}, { response, truth })).toEqual({ score });
    expect(await parts('countdown_reward', { powers: true }, { response, truth })).toEqual({
      score,
    });
  });

  it('takes fractions on the way, and powers when they are allowed', async () => {
    const eight = (response: string) => ({
      response,
      truth: '{"target": 24, "numbers": [8, 3, 8, 3]}',
    });
    expect(
      await parts('countdown_reward', { score: 2 }, eight('<answer>8/(3-8/3)</answer>')),
    ).toEqual({ score: 2 });
    const power = { response: '<answer>2**3</answer>', truth: '{"target": 8, "numbers": [3, 2]}' };
    expect(await parts('countdown_reward', { powers: true }, power)).toEqual({ score: 1 });
    expect(await parts('countdown_reward', { format_score: 0.2 }, power)).toEqual({ score: 0.2 });
  });

  it.each([
    ['2.5*4', 10, [2, 5, 4]],
    ['.5*2', 1, [5, 2]],
    ['6.-2', 4, [6, 2]],
    ['7//2', 3, [7, 2]],
    ['7/ /2', 3, [7, 2]],
  ])('joins no numbers to decimals and does not round: %s', async (answer, target, numbers) => {
    const given = {
      response: `<answer>${answer}</answer>`,
      truth: JSON.stringify({ target, numbers }),
    };
    for (const powers of [false, true])
      expect(await parts('countdown_reward', { powers }, given)).toEqual({ score: 0.1 });
  });

  it.each(['98', '{"target": "98", "numbers": [1]}', '{"target": 9', 'null'])(
    'blames the data for the truth %s',
    async (broken) => {
      await expect(parts('countdown_reward', {}, { response: '', truth: broken })).rejects.toThrow(
        RewardError,
      );
    },
  );
});

describe('tool_call_reward', () => {
  const { answer, cases } = vectors.toolcall_reward;
  const right = '{"name":"f","arguments":{"a":1}}';
  const call = (json: string) => `<think>t</think> <tool_call>${json}</tool_call>`;
  const score = async (response: string, truth: string, args = {}) =>
    (await parts('tool_call_reward', args, { response, truth }))['accuracy'];

  it.each(cases)('gives $score for $response', async ({ response, score: expected }) => {
    expect(await score(response, answer)).toBe(expected);
  });

  it.each([
    [
      'one call without a list',
      '{"name":"f","arguments":{"a":1}}',
      '[{"name":"f","arguments":{"a":1}}]',
      1,
    ],
    [
      'JSON in JSON',
      JSON.stringify('[{"name":"f","arguments":{}}]'),
      '{"name":"f","arguments":{}}',
      1,
    ],
    [
      'keys in another order',
      '{"name":"f","arguments":{"b":{"d":1,"c":2},"a":1}}',
      '{"arguments":{"a":1,"b":{"c":2,"d":1}},"name":"f"}',
      1,
    ],
    ['no calls where none belong', '[]', '[]', 1],
    [
      'a call too many',
      '[{"name":"f","arguments":{}},{"name":"f","arguments":{}}]',
      '[{"name":"f","arguments":{}}]',
      0,
    ],
    ['another type', '{"name":"f","arguments":{"a":"1"}}', '{"name":"f","arguments":{"a":1}}', 0],
    [
      'another id of twenty digits',
      '{"name":"f","arguments":{"a":12345678901234567890}}',
      '{"name":"f","arguments":{"a":12345678901234567891}}',
      0,
    ],
    ['a call without arguments', '{"name":"f"}', '{"name":"f","arguments":{}}', 0],
    ['a number', '5', '[]', 0],
    ['a million brackets', '['.repeat(1_000_000), '[]', 0],
    ['nothing', '', '[]', 0],
  ])('decides on %s', async (_what, json, truth, expected) => {
    expect(await score(call(json), truth)).toBe(expected);
  });

  it.each([
    ['guesses before the right call', ['{"name":"g","arguments":{}}', right], 0],
    ['a guess after it', [right, '{"name":"g","arguments":{}}'], 0],
    ['the right call again and again', [right, right, right], 0],
    ['a tag that cannot be read', ['f(1)', right], 0],
    ['a closing tag inside an argument', ['{"name":"f","arguments":{"a":"</tool_call>"}}'], 0],
    ['the right call and an empty list', ['[]', right], 1],
  ])('decides on %s', async (_what, blocks, expected) => {
    const response = `<think>t</think>${blocks.map((json) => `<tool_call>${json}</tool_call>`).join('\n')}`;
    expect(await score(response, right)).toBe(expected);
    expect(await score(`${response}<tool_call>`, right)).toBe(0);
  });

  it('counts calls in several tags, text with tags in it, and no calls in the thought', async () => {
    const text = '{"name":"f","arguments":{"a":"say \\"</tool_call>\\" <tool_call>"}}';
    const both = `[${right},${text}]`;
    const tags = `<tool_call>${text}</tool_call> <tool_call>${right}</tool_call>`;
    expect(await score(`<think>t</think>${tags}`, both)).toBe(1);
    const thought = '<think><tool_call>{"name":"g","arguments":{}}</tool_call></think>';
    expect(await score(thought + tags, both, { with_think: false })).toBe(1);
    expect(await score(thought, '[]', { with_think: false })).toBe(0);
    expect(await score(thought + tags, both)).toBe(1);
    expect(await score(`<think>I use <tool_call></think>${tags}`, both)).toBe(1);
    expect(await score(`<tool_call>[]</tool_call><think>t</think>${tags}`, both)).toBe(0);
  });

  it('counts right tools with wrong arguments for what they are worth', async () => {
    const response = `${call('[]')}<tool_call>{"name":"f","arguments":{"a":2}}</tool_call>`;
    expect(await score(response, '{"name":"f","arguments":{"a":2}}')).toBe(1);
    expect(await score(response, right, { names_coef: 0.25 })).toBe(0.25);
    expect(await score('<tool_call>[]</tool_call>', '[]', { with_think: false })).toBe(1);
  });

  it('blames the data for a truth that is no list of calls', async () => {
    await expect(score(call('[]'), 'f(1)')).rejects.toThrow(/\[\{"name": "f"/);
  });
});

describe('guesses', () => {
  const separators = ['=', ', ', '; ', ' or ', ' and ', ':', '/', '\\cup', '\\pm', '<', '\\le', '\\ne', '|', '\\in', ' is ', '\\quad', '\\\\', '\\approx', '\\to', '+']; // prettier-ignore
  const boxes = separators.map((separator) => `\\boxed{${['3', '72', '41'].join(separator)}}`);
  const ranges = ['(0,100)', '[70,80]', 'x > 3', '\\{3,72\\}', '\\mathbb{R}', '72 \\pm 5', 'x', '0/0', '\\infty', '\\sqrt{10^{60}}-\\sqrt{10^{60}}', '\\sin(10^{17})\\cdot 10^{17}', '\\sqrt{-1}']; // prettier-ignore
  const attacks = [
    ...boxes,
    ...boxes.map((box) => box.replace('{', '{x=')),
    ...ranges.map((range) => `\\boxed{${range}}`),
    '\\boxed{72}\\boxed{3}',
    '\\boxed{72} or \\boxed{3}',
    '<answer>72</answer> <answer>3</answer>',
    'The answer is 72. The answer is 3.',
    '#### 72\n#### 3',
    '<think>72</think> 3',
  ];
  const rewards = ['accuracy_reward', 'math_reward', 'math_boxed_reward', 'math_eval_reward', 'math_dapo_reward']; // prettier-ignore

  it.each(rewards)('of many answers at once are worth nothing to %s', async (name) => {
    for (const response of attacks)
      expect([response, (await parts(name, {}, { response, truth: '72' }))['accuracy']]).toEqual([
        response,
        0,
      ]);
  });

  it('in a layout that is repeated are no layout', async () => {
    const once = '<think>\na\n</think>\n<answer>\n3\n</answer>';
    for (const layout of ['strict', 'loose']) {
      const score = async (response: string) =>
        (await parts('format_reward', { layout }, { response }))['format_score'];
      expect(await score(once)).toBe(0.1);
      expect(await score(`${once}\n${once}`)).toBe(-0.1);
      expect(await score(`${once}\n<answer>\n4\n</answer>`)).toBe(-0.1);
    }
  });
});

describe('an expected answer that is no text', () => {
  it.each([
    [72, '72'],
    [9007199254740993n, '9007199254740993'],
    [['1', '2'], '["1","2"]'],
  ])('counts as its text: %s', async (truth, response) => {
    const given = { response, truth: truth as unknown as string };
    expect(await parts('exact_match_reward', {}, given)).toEqual({ accuracy: 1 });
  });
});

describe('rewards of length', () => {
  const {
    penalty_factor: penaltyFactor,
    max_response_length: maxResponseLength,
    cache_length: cacheLength,
  } = vectors.dapo_overlong;
  const lengths = { max_response_length: maxResponseLength, cache_length: cacheLength };
  const newer = vectors.dapo_overlong.newer_upstream_test.cases.map(([tokens, penalty]) => ({
    response_len: tokens!,
    penalty: penalty!,
  }));

  it.each([...vectors.dapo_overlong.cases, ...newer])(
    'punish $response_len tokens by $penalty',
    async ({ response_len: tokens, penalty }) => {
      expect(
        overlongPenalty(tokens, { penaltyFactor, maxResponseLength, cacheLength }),
      ).toBeCloseTo(penalty, 12);
      const given = { response: '\\boxed{4}', truth: '4', responseTokens: tokens };
      expect(
        (await parts('overlong_penalty_reward', lengths, given))['overlong_penalty'],
      ).toBeCloseTo(penalty, 12);
      expect(
        (await parts('math_dapo_reward', { enable_overlong_penalty: true, ...lengths }, given))[
          'format_score'
        ],
      ).toBeCloseTo(penalty, 12);
    },
  );

  it('punish at once without a stretch to grow in', () => {
    const steep = { maxResponseLength: 100, cacheLength: 0, penaltyFactor: 2 };
    expect([100, 101].map((tokens) => overlongPenalty(tokens, steep))).toEqual([0, -2]);
  });

  it('cost in proportion to the tokens, up to the longest', async () => {
    const cost = async (tokens: number) =>
      (
        await parts(
          'length_penalty_reward',
          { max_response_length: 100, length_coef: 0.5 },
          { response: '4', truth: '4', responseTokens: tokens },
        )
      )['length_penalty'];
    expect([await cost(0), await cost(50), await cost(100), await cost(1000)]).toEqual([
      0, -0.25, -0.5, -0.5,
    ]);
  });

  it('say what they need', async () => {
    const given = { response: '4', truth: '4' };
    await expect(parts('overlong_penalty_reward', lengths, given)).rejects.toThrow(
      /number of response tokens/,
    );
    await expect(
      parts('math_dapo_reward', { enable_overlong_penalty: true }, given),
    ).rejects.toThrow(/Set all three/);
    await expect(
      parts('overlong_penalty_reward', { max_response_length: 10, cache_length: 10 }, given),
    ).rejects.toThrow(ConfigError);
    await expect(parts('length_penalty_reward', {}, given)).rejects.toThrow(ConfigError);
  });
});

describe('math_dapo_reward', () => {
  it('is worth what it is reported to be, by either checker', async () => {
    const half = (response: string) => ({ response, truth: '\\frac{1}{2}' });
    expect(await parts('math_dapo_reward', {}, half('\\boxed{0.50}'))).toEqual({
      accuracy: 1,
      format_score: 0,
    });
    expect(await parts('math_dapo_reward', { wrong_coef: -1 }, half('\\boxed{2}'))).toEqual({
      accuracy: -1,
      format_score: 0,
    });
    expect(await parts('math_dapo_reward', { checker: 'trinity' }, half('\\boxed{0.50}'))).toEqual({
      accuracy: 0,
      format_score: 0,
    });
    expect(
      await parts(
        'math_dapo_reward',
        { checker: 'trinity' },
        half('<think>\\boxed{1}</think>\\boxed{\\tfrac12}'),
      ),
    ).toMatchObject({
      accuracy: 1,
    });
  });
});

describe('math_eval_reward', () => {
  it('lets 50 be 0.5 only by the rules of Trinity-RFT', async () => {
    const given = { response: 'The answer is 50', truth: '0.5' };
    expect(await parts('math_eval_reward', {}, given)).toEqual({ accuracy: 0 });
    expect(await parts('math_eval_reward', { checker: 'trinity' }, given)).toEqual({ accuracy: 1 });
  });
});

describe('rlcr_reward', () => {
  const { cases, extreme, default_weights: weights } = vectors.rlcr;
  const response = (answer: string, confidence: number | string, before = '') =>
    `${before}<think>t</think>\n<answer>${answer}</answer>\n<analysis>a</analysis>\n<confidence>${confidence}</confidence>\n`;
  const rlcr = async (text: string, args = {}) =>
    parts('rlcr_reward', args, { response: text, truth: '4' });
  const nothing = {
    format: 0,
    accuracy: 0,
    brier: 0,
    mean_confidence: 0,
    confidence_one_or_zero: 0,
  };

  it.each(cases)(
    'scores an answer that is right ($answer_correct) with confidence $confidence',
    async (row) => {
      const scored = await rlcr(response(row.answer_correct ? '4' : '5', row.confidence), {
        weights,
      });
      const sum = Object.values(scored).reduce((total, part) => total + part, 0);
      const figures = Object.entries({ ...scored, sum }).filter(([name]) => name in row);
      expect(figures.length).toBeGreaterThan(1);
      for (const [name, figure] of figures)
        expect(figure).toBeCloseTo(Number(row[name as keyof typeof row]), 12);
    },
  );

  it.each(Object.entries(extreme))(
    'gives the confidence %s the part %s',
    async (confidence, part) => {
      expect((await rlcr(response('4', confidence)))['confidence_one_or_zero']).toBe(part);
    },
  );

  it.each([
    [
      'another order',
      '<answer>4</answer><think>t</think><analysis>a</analysis><confidence>0.5</confidence>',
    ],
    [
      'text between the parts',
      '<think>t</think> so <answer>4</answer><analysis>a</analysis><confidence>0.5</confidence>',
    ],
    ['text at the end', `${response('4', 0.5)} done`],
    [
      'a part in a part',
      '<think><answer>4</answer></think><answer>4</answer><analysis>a</analysis><confidence>0.5</confidence>',
    ],
  ])('gives nothing but the confidence for %s', async (_what, text) => {
    expect(await rlcr(text)).toEqual({ ...nothing, mean_confidence: 0.5e-5 });
  });

  it.each(['', 'high', '1.1', '-0.1', 'nan', '80%', '<think>'])(
    'gives nothing for the confidence %j',
    async (confidence) => {
      expect(await rlcr(response('4', confidence))).toEqual(nothing);
    },
  );

  it('lets whole parts stand before the last four', async () => {
    expect(await rlcr(response('4', 1, 'So: <think>first</think> hm '))).toMatchObject({
      format: 0.5,
      accuracy: 0.5,
      brier: 0.5,
    });
  });

  it('keeps the weights that are not given, and rejects unknown ones', async () => {
    expect(await rlcr(response('4', 1), { weights: { format: 0 } })).toMatchObject({
      format: 0,
      accuracy: 0.5,
    });
    await expect(rlcr('', { weights: { brief: 1 } })).rejects.toThrow(/format, accuracy, brier/);
  });
});
