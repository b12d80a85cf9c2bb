import { builtInTables, createAlgorithm } from '@trinity-rft/algorithm';
import { createExperience, type Experience } from '@trinity-rft/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newestSteps, whatIf, type Variant } from '../../src/what-if/index.js';

/** Runs of one explore step: rewards by task. */
const step = (...tasks: readonly (readonly number[])[]): readonly Experience[] =>
  tasks.flatMap((rewards, task) =>
    rewards.map((reward, run) =>
      createExperience({
        tokens: [1, 2, 3, 4, 5].slice(0, 3 + (run % 3)),
        promptLength: 1,
        logprobs: [-1, -2, -0.5, -1].slice(0, 2 + (run % 3)),
        reward,
        eid: { batch: 1, task, run, suffix: '0' },
        policyVersion: 0,
        temperature: 1,
        promptText: `task ${task}`,
        responseText: 'x'.repeat(run + 1),
      }),
    ),
  );

describe('whatIf', () => {
  it('compares grpo with itself: the same ranks, advantages and gradient', async () => {
    const found = await whatIf(step([0, 1, 1, 0], [1, 1, 1, 1]), { after: {} });
    expect(found).toMatchObject({ agreement: 1, signChanges: 0 });
    expect(found.gradientCosine).toBeCloseTo(1, 6);
    expect(found.after).toEqual(found.before);
    expect(found.after).toMatchObject({ groupsWithSignal: 1, runsWithSignal: 4, meanReward: 0.75 });
    expect(found.groups[0]?.runs.map(({ run, after }) => [run, after.rank])).toEqual([
      [1, 1],
      [2, 1],
      [0, 3],
      [3, 3],
    ]);
  });

  it('turns the order round with the opposite reward', async () => {
    const reward: Variant['reward'] = ({ experience }) => -(experience.reward ?? 0);
    const found = await whatIf(step([0, 0.5, 1]), { after: { reward } });
    expect(found).toMatchObject({ agreement: -1, signChanges: 2 / 3 });
    expect(found.gradientCosine).toBeCloseTo(-1, 5);
  });

  it('shows signal where another reward tells answers apart', async () => {
    const reward: Variant['reward'] = ({ response, responseTokens = 0 }) => ({
      length: response.length,
      tokens: responseTokens / 100,
    });
    const found = await whatIf(step([0, 0, 0]), { after: { reward } });
    expect(found.before).toMatchObject({ groupsWithSignal: 0, gradientNorm: 0 });
    expect(found.after.groupsWithSignal).toBe(1);
    expect(found.after.gradientNorm).toBeGreaterThan(0.1);
    expect(found.after.meanReward).toBeCloseTo(2.03);
    expect([found.agreement, found.gradientCosine]).toEqual([undefined, undefined]);
  });

  it('gives a reward function the task of the answer', async () => {
    const found = await whatIf(step([0, 0]), {
      after: { reward: ({ truth, response }) => Number(truth === response) },
      taskOf: () => ({ truth: 'xx' }),
    });
    expect(found.groups[0]?.runs.map(({ run, after }) => [run, after.reward])).toEqual([
      [1, 1],
      [0, 0],
    ]);
  });

  it('has the gradient of the loss as a trainer computes it', async () => {
    const experiences = step([0, 1, 1], [1, 0, 0]);
    const { after } = await whatIf(experiences, { after: { algorithm: 'grpo' } });
    const { advantage, loss } = createAlgorithm({
      advantageFn: { name: 'grpo' },
      policyLossFn: { name: 'ppo' },
    });
    const rows = advantage?.(experiences).experiences ?? [];
    const offsets = [0];
    for (const { logprobs } of rows) offsets.push((offsets.at(-1) ?? 0) + logprobs.length);
    const flat = (read: (row: Experience) => ArrayLike<number> | undefined): number[] =>
      rows.flatMap((row) => Array.from(read(row) ?? []));
    const old = Float32Array.from(flat(({ logprobs }) => logprobs));
    const { gradLogprobs } = loss({
      offsets: Int32Array.from(offsets),
      actionMask: Uint8Array.from(flat(({ actionMask }) => actionMask)),
      advantages: Float32Array.from(flat(({ advantages }) => advantages)),
      oldLogprobs: old,
      currentLogprobs: old,
      step: 1,
    });
    expect(after.gradientNorm).toBeCloseTo(Math.hypot(...gradLogprobs), 6);
  });

  it('tells losses apart that only clip differently once weights have moved', async () => {
    const experiences = step([0, 1, 1, 0], [1, 0, 0, 0]);
    const after = { policyLossFn: { name: 'cispo' } };
    const [still, moved] = [
      await whatIf(experiences, { after }),
      await whatIf(experiences, { after, drift: 0.5 }),
    ];
    expect(still.gradientCosine).toBeCloseTo(1, 4);
    expect(moved.gradientCosine).toBeLessThan(0.999);
    expect(moved.before.metrics['pg_clipfrac']).toBeGreaterThan(0);
    expect(await whatIf(experiences, { after, drift: 0.5 })).toEqual(moved);
  });

  it('refuses what needs a model, names that do not exist, and answers without text', async () => {
    const experiences = step([0, 1]);
    await expect(whatIf(experiences, { after: { algorithm: 'ppo' } })).rejects.toThrow('a critic');
    await expect(whatIf(experiences, { after: { algorithm: 'sft' } })).rejects.toThrow(
      /sft.*--advantage/,
    );
    await expect(whatIf(experiences, { after: { algorithm: 'grop' } })).rejects.toThrow('grpo');
    const silent = experiences.map((each) => ({ ...each, responseText: undefined }));
    await expect(whatIf(silent, { after: { reward: () => 1 } })).rejects.toThrow('1/0/0/0/0');
    await expect(whatIf(experiences, { after: { reward: () => Number.NaN } })).rejects.toThrow(
      'NaN',
    );
  });

  it('runs every algorithm that needs no model, or says what it needs', async () => {
    const experiences = step([0, 1, 1, 0], [1, 0.5, 0, 0.25]);
    const outcomes = await Promise.all(
      Object.keys(builtInTables.presets).map(async (algorithm) => {
        const found = await whatIf(experiences, { after: { algorithm } }).catch(
          (error: Error) => error.message,
        );
        return typeof found === 'string' ? found : found.after.gradientNorm > 0;
      }),
    );
    const refusals = outcomes.filter((outcome) => outcome !== true);
    for (const refusal of refusals) expect(refusal).toMatch(/need|no advantage/);
    expect(outcomes.length - refusals.length).toBeGreaterThanOrEqual(10);
  });

  it('does not depend on the order of the rows', async () => {
    const rewards = fc.array(fc.constantFrom(0, 0.5, 1), { minLength: 2, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.array(rewards, { minLength: 1, maxLength: 3 }), async (tasks) => {
        const experiences = step(...tasks);
        const [forth, back] = [
          await whatIf(experiences, { after: { algorithm: 'rloo' } }),
          await whatIf(experiences.toReversed(), { after: { algorithm: 'rloo' } }),
        ];
        expect(back.after.gradientNorm).toBeCloseTo(forth.after.gradientNorm, 5);
        expect(back.agreement ?? 0).toBeCloseTo(forth.agreement ?? 0, 6);
      }),
      { numRuns: 30 },
    );
  });
});

describe('newestSteps', () => {
  it('reads only what a store has kept', () => {
    const kept = Array.from({ length: 1000 }, (_, i) => ({
      id: 99_001 + i,
      experience: createExperience({
        ...{ tokens: [1, 2], promptLength: 1, logprobs: [-1], policyVersion: 0, temperature: 1 },
        eid: { batch: 700 + Math.floor(i / 500), task: i, run: 0 },
      }),
    }));
    let read = 0;
    const source = {
      newestId: () => 100_000,
      rowsAfter: (after: number, limit: number) => {
        const rows = kept.filter(({ id }) => id > after).slice(0, limit);
        read += rows.length;
        return rows;
      },
    };
    expect(newestSteps(source, 5)).toEqual(kept.map(({ experience }) => experience));
    // A page of 128 rows may be read twice at either end.
    expect(read).toBeLessThan(1000 + 2 * 128);
    expect(newestSteps(source, 1)).toHaveLength(500);
    expect(newestSteps({ newestId: () => 0, rowsAfter: () => [] }, 1)).toEqual([]);
  });
});
