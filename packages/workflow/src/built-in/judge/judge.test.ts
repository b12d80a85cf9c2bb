import { ModelError, type Experience, type Runtime } from '@trinity-rft/core';
import { manualClock, testRuntime } from '@trinity-rft/testing';
import fc from 'fast-check';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import type { PartialGroupError } from '../../definition/partial-group-error.js';
import { createWorkflowRegistry } from '../../registries.js';
import { scriptedModel, type ScriptedAnswer } from '../../scripted/scripted-model.js';
import { tryWorkflow, type TryOptions } from '../../scripted/try-workflow.js';
import { askJudge } from './ask-judge.js';
import { parseRating, parseScores } from './parse-judge-reply.js';

describe('parseRating', () => {
  const rating = (text: string): number | undefined => parseRating(text, { min: 1, max: 10 });
  it.each([
    ['{"rating": 7}', 7],
    ['```json\n{"reason": "short", "rating": "8"}\n```', 8],
    ["{'rating': 6.5,}", 6.5],
    ['At first rating: 3. On reflection **Rating: 9**', 9],
    ['I give it 4/10 (not 4/5).', 4],
    ['I rate this 7/10.', 7],
    ['Rating: 9. (A rating: 1 would mean none.)', 9],
    ['Good (rating: 8).', 8],
    ['8/10.5, or 1/100', undefined],
    ['{"rating": 85}', undefined],
    ['{"rating": 0}', undefined],
    ['{"rating": }', undefined],
    ['a 7', undefined],
    ['', undefined],
  ])('%j is %s', (text, expected) => expect(rating(text)).toBe(expected));
});

describe('parseScores', () => {
  it.each([
    ['[0.2, 1]', [0.2, 1]],
    ['Answer [1] is better than [2]: ```json\n{"scores": [0.25, "0.5",]}```', [0.25, 0.5]],
    ['[-3, 7e0]', undefined],
    ['[8, 9]', undefined],
    ['[0.1, 0.2, 0.3]', undefined],
    ['[0.1, good]', undefined],
    ['[0.1, NaN]', undefined],
    ['] 0.1, 0.2 [', undefined],
    ['0.1, 0.2', undefined],
  ])('%j is %j', (text, expected) => expect(parseScores(text, 2)).toEqual(expected));

  it('reads back any list within any text, and never gives anything out of range', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 20 }),
        fc.string(),
        (scores, text) => {
          expect(parseScores(`${text}\n${JSON.stringify(scores)}.`, scores.length)).toEqual(scores);
        },
      ),
    );
    const pieces = fc.constantFrom(
      '[',
      ']',
      '1',
      '0.5',
      '-2',
      ',',
      ' ',
      '"',
      'rating',
      ':',
      '/10',
      'e5',
      '\n',
    );
    fc.assert(
      fc.property(
        fc.array(pieces).map((parts) => parts.join('')),
        (text) => {
          const scores = parseScores(text, 2);
          expect(
            scores === undefined ||
              (scores.length === 2 && scores.every((score) => score >= 0 && score <= 1)),
          ).toBe(true);
          const rating = parseRating(text, { min: 1, max: 10 });
          expect(rating === undefined || (rating >= 1 && rating <= 10)).toBe(true);
        },
      ),
    );
  });

  it.each(['[', 'rating', '1/', '9', 'rating: ', '[1,'])(
    'reads nothing from a megabyte of %j',
    (piece) => {
      const text = piece.repeat(200_000);
      expect([parseScores(text, 3), parseRating(text, { min: 1, max: 10 })]).toEqual([
        undefined,
        undefined,
      ]);
    },
  );
});

describe('askJudge', () => {
  const clock = manualClock();
  const ask = (
    judge: ReturnType<typeof scriptedModel>,
    over: Partial<Parameters<typeof askJudge<number>>[0]> = {},
  ) =>
    askJudge<number>({
      judge,
      messages: [{ role: 'user', content: 'How good?' }],
      parse: (text) => (text === '' ? undefined : Number(text) || undefined),
      expected: 'a number',
      clock,
      signal: new AbortController().signal,
      ...over,
    });

  it('asks again, saying what is expected, when an answer cannot be read', async () => {
    const judge = scriptedModel({ answers: ['good', '5'] });
    expect(await ask(judge)).toEqual({ value: 5, attempts: 2 });
    expect(judge.calls[1]!.messages.at(-1)).toEqual({
      role: 'user',
      content: 'That cannot be read. Answer with a number and nothing else.',
    });
    expect(judge.calls[0]!.options.temperature).toBe(0);
  });

  it('takes no verdict from an answer that is cut', async () => {
    const cut = { responseText: 'At first 3 of', finishReason: 'length' } as const;
    const parse = (text: string) => Number(/\d/.exec(text)?.[0]) || undefined;
    expect(await ask(scriptedModel({ answers: [cut, '5'] }), { parse })).toEqual({
      value: 5,
      attempts: 2,
    });
    expect(await ask(scriptedModel({ answers: [cut] }), { parse, attempts: 1 })).toMatchObject({
      failure: 'the judge answered "At first 3 of", cut at its token limit',
    });
  });

  it('gives up after so many attempts', async () => {
    expect(await ask(scriptedModel({ answers: () => 'good' }), { attempts: 3 })).toEqual({
      value: undefined,
      attempts: 3,
      failure: 'the judge answered "good"',
    });
  });

  it('asks once more after an error that may pass, and not after one that stays', async () => {
    const busy = new ModelError('Busy.', { status: 429, retryable: true });
    expect(await ask(scriptedModel({ answers: [busy, '5'] }))).toEqual({ value: 5, attempts: 2 });
    const rejected = new ModelError('Wrong key.', { status: 401 });
    expect(await ask(scriptedModel({ answers: [rejected, '5'] }))).toEqual({
      value: undefined,
      attempts: 1,
      failure: 'Wrong key',
    });
  });

  it('waits no longer than its deadline for a judge that ignores its signal', async () => {
    const deaf = {
      ...scriptedModel({ answers: [] }),
      chat: () => new Promise<never>(() => undefined),
    };
    const verdict = ask(deaf, { attempts: 1, timeoutMs: 1000 });
    await clock.advance(1000);
    expect(await verdict).toMatchObject({
      value: undefined,
      failure: 'The judge "scripted" did not answer within 1 s',
    });
  });

  it('ends with the run', async () => {
    const run = new AbortController();
    const deaf = {
      ...scriptedModel({ answers: [] }),
      chat: () => new Promise<never>(() => undefined),
    };
    const verdict = ask(deaf, { signal: run.signal });
    run.abort(new Error('over'));
    await expect(verdict).rejects.toThrow('over');
  });
});

async function run(
  name: string,
  options: Omit<TryOptions, 'auxiliaryModels'> & { readonly judge?: readonly ScriptedAnswer[] },
) {
  const judge = scriptedModel({ answers: options.judge ?? [], modelPath: 'judge' });
  const auxiliaryModels: Record<string, typeof judge> =
    options.judge === undefined ? {} : { judge };
  const experiences = (await tryWorkflow(createWorkflowRegistry().get(name), {
    ...options,
    auxiliaryModels,
  })) as readonly Experience[];
  return { judge, experiences, rewards: experiences.map(({ reward }) => reward) };
}

const rawTask = {
  prompt: 'Why is the sky blue?',
  rubric: [{ description: 'Names scattering', weight: 0.7 }],
};

describe('rubric_judge_workflow', () => {
  it('rates each answer of the group by the rubric of its row', async () => {
    const model = scriptedModel({ answers: ['Scattering.', 'Paint.'] });
    const { rewards, judge, experiences } = await run('rubric_judge_workflow', {
      rawTask,
      model,
      judge: ['{"rating": 9}', 'So bad. {"rating": 1}'],
      task: { repeatTimes: 2 },
    });
    expect(rewards).toEqual([0.9, 0.1]);
    expect(experiences.map(({ eid, metrics }) => [eid.run, metrics])).toEqual([[0, { judge_success: 1 }], [1, { judge_success: 1 }]]); // prettier-ignore
    const asked = judge.calls.map(({ messages }) => JSON.stringify(messages));
    expect(asked[0]).toContain('(weight 0.7) Names scattering');
    expect([asked[0]!.includes('Scattering.'), asked[1]!.includes('Paint.')]).toEqual([true, true]);
  });

  it('fails for an answer without a rating, and keeps those of the others', async () => {
    const judged = (answers: readonly string[], judge: readonly string[]) =>
      run('rubric_judge_workflow', {
        rawTask,
        model: scriptedModel({ answers }),
        judge,
        task: { repeatTimes: answers.length, workflowArgs: { judge_attempts: 1 } },
      });
    await expect(judged(['x'], ['fine'])).rejects.toThrow(
      'The judge "judge" gave no verdict: the judge answered "fine".',
    );
    const error = await judged(['x', 'y'], ['fine', 'rating: 4']).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ result: [{ reward: 0.4, eid: { run: 1 } }] });
    expect([...(error as PartialGroupError).failed.keys()]).toEqual([0]);
    expect((error as Error).message).toBe(
      'Rollouts 0 of a group failed: The judge "judge" gave no verdict: the judge answered "fine".',
    );
  });

  it('rejects rows without a rubric, and runs without a judge', async () => {
    const model = scriptedModel({ answers: () => 'x' });
    await expect(
      run('rubric_judge_workflow', { rawTask: { prompt: 'a' }, model, judge: [] }),
    ).rejects.toThrow('no valid "rubric"');
    await expect(run('rubric_judge_workflow', { rawTask, model })).rejects.toThrow(
      'add it to explorer.auxiliary_models',
    );
    const named = { workflowArgs: { judge: 'judgge' } };
    await expect(
      run('rubric_judge_workflow', { rawTask, model, judge: [], task: named }),
    ).rejects.toThrow('Did you mean "judge"?');
  });
});

describe('rubric_judge_openai_workflow', () => {
  const workflowArgs = {
    judge_model_name: 'big',
    judge_api_base_url_env: 'TEST_JUDGE_URL',
    judge_api_key_env: 'TEST_JUDGE_KEY',
    judge_attempts: 1,
  };
  const options = { rawTask, task: { workflowArgs } };

  it('asks the judge whose address and key are in the environment', async () => {
    const message = { role: 'assistant', content: '{"rating": 4}', refusal: null };
    const keys: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      keys.push(request.headers.authorization);
      const body = JSON.stringify({ choices: [{ index: 0, finish_reason: 'stop', message }] });
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    vi.stubEnv('TEST_JUDGE_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
    vi.stubEnv('TEST_JUDGE_KEY', 'mine');
    try {
      const { rewards } = await run('rubric_judge_openai_workflow', {
        ...options,
        model: scriptedModel({ answers: ['x'] }),
      });
      expect([rewards, keys]).toEqual([[0.4], ['Bearer mine']]);
    } finally {
      vi.unstubAllEnvs();
      server.close();
    }
  });

  it('says which variable is not set', async () => {
    const asked = run('rubric_judge_openai_workflow', {
      ...options,
      model: scriptedModel({ answers: ['x'] }),
    });
    await expect(asked).rejects.toThrow(
      'workflow_args.judge_api_base_url_env: got "TEST_JUDGE_URL", expected an environment variable that is set.',
    );
    vi.stubEnv('TEST_JUDGE_URL', 'http://127.0.0.1:8000/v1');
    const model = scriptedModel({ answers: ['x'] });
    const task = { workflowArgs: { ...workflowArgs, judge_api_key_env: 'gsk_4Rt7' } };
    await expect(run('rubric_judge_openai_workflow', { rawTask, task, model })).rejects.toThrow(
      'judge_api_key_env: got "[redacted]", expected',
    );
    vi.unstubAllEnvs();
  });

  it.each(['api.openai.com/v1', 'localhost:8000/v1'])('refuses the address %s', async (url) => {
    vi.stubEnv('TEST_JUDGE_URL', url);
    const model = scriptedModel({ answers: ['x'] });
    const asked = run('rubric_judge_openai_workflow', { ...options, model });
    await expect(asked).rejects.toThrow(
      'workflow_args.judge_api_base_url_env: got "TEST_JUDGE_URL", expected a variable with a URL such as https://api.openai.com/v1.',
    );
    vi.unstubAllEnvs();
  });
});

describe('ruler_workflow', () => {
  const task = { repeatTimes: 3 };
  it('asks once for the whole group', async () => {
    const model = scriptedModel({ answers: ['a', 'b', 'c'] });
    const { rewards, judge, experiences } = await run('ruler_workflow', {
      rawTask,
      model,
      judge: ['[0.1, 0.9, 0.5]'],
      task,
    });
    expect(rewards).toEqual([0.1, 0.9, 0.5]);
    expect(experiences.map(({ eid }) => eid.run)).toEqual([0, 1, 2]);
    expect(judge.calls).toHaveLength(1);
  });

  it('fails when the list has the wrong length', async () => {
    const judged = run('ruler_workflow', {
      rawTask,
      model: scriptedModel({ answers: ['a', 'b', 'c'] }),
      judge: ['[0.1, 0.9]', '[]'],
      task,
    });
    await expect(judged).rejects.toThrow('gave no verdict: the judge answered "[]"');
  });

  it('reports what the checker says besides the judge, under the name of the original', async () => {
    const answers = ['<think>1+1</think><answer>2</answer>', '<think>?</think><answer>3</answer>'];
    const { experiences } = await run('math_ruler_workflow', {
      rawTask: { prompt: '1+1', response: '2' },
      model: scriptedModel({ answers }),
      judge: ['[0.5, 0.75]'],
      task: { repeatTimes: 2 },
    });
    expect(experiences.map(({ reward, metrics }) => [reward, metrics['accuracy'], Number(metrics['gold_reward']) > 0.5])).toEqual([[0.5, 1, true], [0.75, 0, false]]); // prettier-ignore
  });
});

describe('math_trainable_ruler_workflow', () => {
  const right = '<think>1+1</think><answer>2</answer>';
  const wrong = '<think>?</think><answer>3</answer>';
  const options = { rawTask: { prompt: '1+1', response: '2' } };

  it('pays its own verdict where the truth is not used', async () => {
    const model = scriptedModel({ answers: [right, wrong, '[0.75, 0.5]'] });
    const task = { repeatTimes: 2, workflowArgs: { ground_truth_ratio: 0 } };
    const { rewards, experiences } = await run('math_trainable_ruler_workflow', {
      ...options,
      model,
      task,
    });
    expect(rewards).toEqual([0.75, 0.5]);
    expect(experiences[0]!.metrics).toMatchObject({ judge_success: 1, accuracy: 1 });
  });

  it('pays the truth where it is used, and verdicts by how near they come, as a group of their own', async () => {
    const model = scriptedModel({ answers: [right, wrong, '[1, 0]', 'both fine'] });
    const task = { taskId: 5, repeatTimes: 2, workflowArgs: { ground_truth_ratio: 1 } };
    const { experiences } = await run('math_trainable_ruler_workflow', { ...options, model, task });
    const [gold0, gold1] = experiences.slice(2).map(({ reward }) => reward!);
    expect([gold0! > 0.9, gold1! < 0.2]).toEqual([true, true]);
    expect(experiences.map(({ eid }) => [eid.task, eid.run])).toEqual([['5-ruler', 0], ['5-ruler', 1], ['', 0], ['', 1]]); // prettier-ignore
    const normal = [gold0!, gold1!].map((gold) => (gold + 0.1) / 1.2);
    expect(experiences[0]!.reward).toBeCloseTo(
      1 - (Math.abs(1 - normal[0]!) + Math.abs(0 - normal[1]!)) / 2,
      12,
    );
    expect(experiences[1]!.reward).toBe(0);
    expect(experiences[2]!.metrics['judge_success']).toBe(0.5);
  });

  const verdict = async (rewardFn: string, score: (text: string) => number, runtime?: Runtime) => {
    const { experiences } = await run('math_trainable_ruler_workflow', {
      ...options,
      model: scriptedModel({ answers: [right, wrong, '[1, 0]', '[1, 0]'] }),
      rewardFn: ({ response }) => score(response),
      task: { repeatTimes: 2, workflowArgs: { ground_truth_ratio: 1 }, rewardFn },
      runtime,
    });
    return experiences[0]!.reward;
  };

  it.each([
    ['accuracy_reward', 1, 0, 1],
    ['math_reward', 1.1, -0.1, 1],
    ['trinity.common.rewards.MathRewardFn', 0.5, 0.5, 0.5],
  ])('pays verdicts by rewards of %s', async (rewardFn, best, worst, expected) => {
    const score = (text: string): number => (text === right ? best : worst);
    expect(await verdict(rewardFn, score)).toBeCloseTo(expected, 12);
  });

  it('cuts off rewards that are out of range, with one warning per reward function', async () => {
    const runtime = testRuntime();
    const own = (text: string): number => (text === right ? 10 : -10);
    expect(await verdict('own', own, runtime)).toBe(1);
    expect(await verdict('own', own, runtime)).toBe(1);
    expect(await verdict('math_reward', own, runtime)).toBe(1);
    expect(await verdict('math_boxed_reward', () => -0.1, runtime)).toBe(0.5);
    expect(runtime.logger.lines.map(({ message }) => message)).toEqual([
      expect.stringContaining(
        '"own" returned 10; math_trainable_ruler_workflow cuts rewards off to 0 to 1',
      ),
      expect.stringContaining('"math_reward" returned 10; '),
      expect.stringContaining('"math_boxed_reward" returned -0.1; '),
    ]);
  });
});
