import { defaultFormatArgs, EnvironmentError, type Experience } from '@trinity-rft/core';
import { defineEnvironment, nativeEnvironment, type World } from '@trinity-rft/environment';
import { createEnvironments } from '@trinity-rft/environment/playing';
import { testRuntime } from '@trinity-rft/testing';
import { scriptedModel, tryWorkflow, type ScriptedAnswer } from '@trinity-rft/workflow';
import { expect, it } from 'vitest';
import { builtInEnvironments } from '../src/index.js';
import { environmentWorkflow } from '../src/index.js';

/** A corridor of cells 0 to 3 with the exit "out" at cell 3. Each step pays 0.1. */
const corridor = (): World => {
  let cell = 0;
  return {
    instructions: 'Walk right, then out.',
    observation: 'You are at 0.',
    tools: [{ type: 'function', function: { name: 'walk' } }],
    step: (action) => {
      const word = action.type === 'tool' ? String(action.arguments['to']) : action.text;
      if (word === 'right') cell++;
      else if (word === 'out') return { observation: 'gold', reward: 1, done: true };
      else if (word === 'nowhere') return { observation: '', done: true };
      else if (word === 'break') throw new TypeError('socket closed');
      else if (word === 'nan') return { observation: '', reward: Number.NaN, done: false };
      else return { observation: `No "${word}" here.`, refused: true, done: false };
      return { observation: `You are at ${cell}.`, reward: 0.1, done: false };
    },
    stateKey: () => String(cell),
  };
};

const world = (change: (world: World) => World = (same) => same) =>
  defineEnvironment({
    name: 'corridor',
    description: 'A corridor.',
    play: { actionFormat: '<{action}>' },
    open: () => nativeEnvironment(() => change(corridor())),
  });

async function play(
  answers: readonly ScriptedAnswer[],
  args: Readonly<Record<string, unknown>> = {},
  definition = world(),
) {
  const model = scriptedModel({ answers });
  const environments = createEnvironments([definition]);
  const result = await tryWorkflow(environmentWorkflow(environments), {
    model,
    rawTask: {},
    task: { workflowArgs: { environment: 'corridor', ...args } },
  });
  await environments.close();
  return { model, experiences: result as readonly Experience[] };
}
const rewards = (experiences: readonly Experience[]) => experiences.map(({ reward }) => reward);

it('plays by actions in the text, with the reward of the episode, of each step and its state', async () => {
  const { model, experiences } = await play(['I go <right>', 'hm', '<left>', '<nope> <out>']);
  expect(rewards(experiences)).toEqual([1.1, 1.1, 1.1, 1.1]);
  expect(
    experiences.map(({ eid, info }) => [eid.step, info['step_reward'], info['env_state_hash']]),
  ).toEqual([
    [0, 0.1, '0'],
    [1, 0, '1'],
    [2, 0, '1'],
    [3, 1, '1'],
  ]);
  expect(experiences[0]?.metrics).toMatchObject({ env_steps: 3, refused: 2, turns: 4 });
  const told = model.calls.at(-1)?.messages.map(({ role, content }) => [role, content]);
  expect(told?.slice(0, 2)).toEqual([
    ['system', 'Walk right, then out.'],
    ['user', 'You are at 0.'],
  ]);
  expect(told?.at(-1)).toEqual(['user', 'No "left" here.']);
  expect(JSON.stringify(told)).not.toContain('gold');
});

it('plays by tools, and tells the model what is wrong with a call', async () => {
  const call = (name: string, given: unknown): ScriptedAnswer => ({
    responseText: '',
    toolCalls: [{ name, arguments: given }],
  });
  const { model, experiences } = await play([
    call('fly', {}),
    call('walk', '{"to": "right"'),
    call('walk', { to: 'out' }),
  ]);
  expect(rewards(experiences)).toEqual([1, 1, 1]);
  expect(
    model.calls
      .at(-1)
      ?.messages.filter(({ role }) => role === 'tool')
      .map((m) => m.content),
  ).toEqual([
    'There is no tool "fly". Tools: walk.',
    'The arguments of "walk" are not a JSON object.',
  ]);
});

it('pays nothing for the right call beside calls of tools that do not exist', async () => {
  const environments = createEnvironments(builtInEnvironments);
  const definition = environments.get('tool_call');
  const [row = {}] = definition.tasks?.({ split: 'train', count: 1, seed: 1 }, {}) ?? [];
  const right = definition.solver?.({ row, seed: 0 }, {})('');
  if (right?.type !== 'tool') throw new RangeError('The solver calls no tool.');
  const invented = { name: 'remove_all', arguments: {} };
  const rewardOf = async (...toolCalls: { name: string; arguments: unknown }[]) => {
    const experiences = await tryWorkflow(environmentWorkflow(environments), {
      model: scriptedModel({ answers: [{ toolCalls }] }),
      rawTask: row,
      task: { workflowArgs: { environment: 'tool_call' } },
    });
    return rewards(experiences as readonly Experience[])[0];
  };
  expect(await rewardOf(right)).toBe(1);
  expect(await rewardOf(invented, right)).toBe(0);
  expect(await rewardOf(right, invented)).toBe(0);
  await environments.close();
});

it('lets the system prompt of the row replace the instructions', async () => {
  const model = scriptedModel({ answers: ['<out>'] });
  const environments = createEnvironments([world()]);
  await tryWorkflow(environmentWorkflow(environments), {
    model,
    rawTask: { system: 'Go.' },
    task: {
      workflowArgs: { environment: 'corridor' },
      formatArgs: { ...defaultFormatArgs, systemPromptKey: 'system', systemPrompt: 'Walk.' },
    },
  });
  await environments.close();
  expect(model.calls[0]?.messages[0]).toEqual({ role: 'system', content: 'Go.' });
});

it('grades the state reached where the policy runs out of turns or tokens', async () => {
  const graded = world((base) => ({ ...base, grade: () => 0.5 }));
  const turns = await play(['<right>', '<right>'], { max_turns: 2 }, graded);
  expect(rewards(turns.experiences)).toEqual([0.7, 0.7]);
  expect(turns.experiences[0]?.metrics).toMatchObject({ out_of_turns: 1 });
  const cut = { responseText: 'so I thi', finishReason: 'length' } as const;
  const tokens = await play(['<right>', cut], {});
  expect(rewards(tokens.experiences)).toEqual([0.1, 0.1]);
  expect(tokens.experiences[0]?.metrics).toMatchObject({ out_of_tokens: 1 });
});

it('combines rewards as told, and drops one below the threshold', async () => {
  const answers = ['<right>', '<out>'];
  expect(rewards((await play(answers, { reward: 'last' })).experiences)).toEqual([1, 1]);
  expect(rewards((await play(answers, { reward: 'max' })).experiences)).toEqual([1, 1]);
  const floor = { reward_threshold: 0.2, max_turns: 1 };
  expect(rewards((await play(answers, floor)).experiences)).toEqual([0]);
});

it.each([
  ['<break>', 'ENVIRONMENT_FAILED', /"corridor" failed at step/],
  ['<nan>', 'ENVIRONMENT_FAILED', /returned NaN as reward/],
  ['<nowhere>', 'ENVIRONMENT_NO_VERDICT', /without a reward or a grade/],
])('counts %s as a broken environment, never as a reward', async (answer, code, message) => {
  const played = play([answer]);
  await expect(played).rejects.toMatchObject({ name: 'EnvironmentError', code });
  await expect(played).rejects.toThrow(message);
});

it('says at which action the environment broke, in words and for the explorer to compare', async () => {
  const errorOf = (...answers: readonly string[]) =>
    play(answers).then(
      () => undefined,
      (error: unknown) => error as EnvironmentError,
    );
  const [first, again, later] = await Promise.all([
    errorOf('<break>'),
    errorOf('<break>'),
    errorOf('<right>', '<break>'),
  ]);
  expect(first?.message).toBe('Environment "corridor" failed at step 1 (the action "break").');
  expect(again?.details).toEqual(first?.details);
  expect(later?.details).toEqual({ ...first?.details, step: 2 });
  const gone = () => {
    throw new EnvironmentError('The server is gone.', { code: 'GONE' });
  };
  const driven = play(
    ['<right>'],
    {},
    world((base) => ({ ...base, step: gone })),
  );
  await expect(driven).rejects.toMatchObject({
    code: 'GONE',
    message: 'The server is gone. It was at step 1 (the action "right").',
  });
});

it.each([
  ['throws', new TypeError('no truth'), 'ENVIRONMENT_FAILED', { action: 'grade' }],
  [
    'has no judge',
    new EnvironmentError('No answer.', { code: 'JUDGE_FAILED' }),
    'JUDGE_FAILED',
    {},
  ],
])('says whether a row cannot be graded, when its grade %s', async (_, error, code, details) => {
  const grade = () => {
    throw error;
  };
  const graded = world((base) => ({ ...base, grade }));
  const played = play(['<right>'], { max_turns: 1 }, graded);
  await expect(played).rejects.toMatchObject({ code });
  await expect(played).rejects.toHaveProperty('details', details);
});

it('counts a state that cannot be told as a broken environment', async () => {
  const stateKey = () => {
    throw new TypeError('no state');
  };
  await expect(
    play(
      ['<right>'],
      {},
      world((base) => ({ ...base, stateKey })),
    ),
  ).rejects.toThrow(/"corridor" failed at its state key/);
});

it('gives up waiting for an answer', async () => {
  const hangs = defineEnvironment({
    name: 'corridor',
    description: 'Hangs.',
    open: () => ({ reset: () => new Promise(() => undefined), close: async () => undefined }),
  });
  await expect(play([], { environment_start_timeout: 0.02 }, hangs)).rejects.toMatchObject({
    code: 'ENVIRONMENT_TIMEOUT',
    message: /within 0.02 s \(workflow_args\.environment_start_timeout\)/,
  });
});

it('names an unknown environment, an unknown argument, and generates tasks', () => {
  const workflow = environmentWorkflow(createEnvironments(builtInEnvironments));
  const check = (args: Readonly<Record<string, unknown>>) => workflow.checkArgs?.(args);
  expect(check({ environment: 'frozen_like' })?.[0]?.message).toMatch(/Did you mean "frozen_lake"/);
  const wrong = { environment: 'frozen_lake', environment_args: { levl: 1 } };
  expect(check(wrong)).toMatchObject([{ path: ['environment_args', 'levl'] }]);
  const range = { split: 'eval', count: 3, seed: 1 } as const;
  expect(workflow.tasks?.({ environment: 'frozen_lake' }, range)).toHaveLength(3);
});

/**
 * Plays a run of 500 ms whose first step takes `stepMs`, and whose model hangs after the first answer.
 */
async function playSlowly(stepMs: number) {
  const runtime = testRuntime();
  const { clock } = runtime;
  const waits = Promise.withResolvers<void>();
  const slow = defineEnvironment({
    name: 'corridor',
    description: 'Takes its time.',
    play: { actionFormat: '<{action}>' },
    open: () =>
      nativeEnvironment(() => {
        const own = corridor();
        const step: World['step'] = async (action) => {
          if (stepMs > 0) {
            const over = clock.sleep(stepMs);
            waits.resolve();
            await over;
          }
          return own.step(action);
        };
        return { ...own, step, grade: () => 0.25 };
      }),
  });
  const model = scriptedModel({ answers: ['<right>', '<right>'] });
  const chat: typeof model.chat = async (messages, options) => {
    if (model.calls.length < 1) return model.chat(messages, options);
    waits.resolve();
    return new Promise((_, reject) => {
      options?.signal?.addEventListener('abort', () => reject(options.signal?.reason as Error));
    });
  };
  const played = tryWorkflow(environmentWorkflow(createEnvironments([slow])), {
    model: { ...model, chat },
    rawTask: {},
    runtime,
    timeLimitMs: 500,
    task: { workflowArgs: { environment: 'corridor' } },
  });
  played.catch(() => undefined);
  await waits.promise;
  await clock.advance(500);
  return played;
}

it('grades and trains a run in which the model took all the time', async () => {
  const experiences = (await playSlowly(0)) as readonly Experience[];
  expect(rewards(experiences)).toEqual([0.35]);
  expect(experiences[0]?.metrics).toMatchObject({ out_of_time: 1, truncated: 1 });
});

it('drops a run in which the environment took it', async () => {
  await expect(playSlowly(500)).rejects.toMatchObject({ code: 'ENVIRONMENT_SLOW' });
});

it('closes an episode that begins after its deadline', async () => {
  const begins = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const late = defineEnvironment({
    name: 'corridor',
    description: 'Late.',
    open: () => {
      const own = nativeEnvironment(() => ({ ...corridor(), close: () => closed.resolve() }));
      const { signal } = new AbortController();
      return { ...own, reset: (start) => begins.promise.then(() => own.reset(start, signal)) };
    },
  });
  await expect(play([], { environment_start_timeout: 0.02 }, late)).rejects.toThrow(
    /within 0.02 s/,
  );
  begins.resolve();
  await closed.promise;
});
