import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  comparePromptAndWeights,
  renderPromptAndWeights,
  type JudgeInput,
  type PromptedInput,
} from '../src/index.js';
import { tinyModel, tinyWorld } from './tiny.js';

interface Row {
  readonly question: string;
  readonly answer: string;
}

let world: Awaited<ReturnType<typeof tinyWorld>>;
beforeAll(async () => {
  world = await tinyWorld();
  await tinyModel(path.join(world.cwd, 'trained'), 2);
});
afterAll(() => rmSync(world.cwd, { recursive: true, force: true }));

/**
 * Agent that solves one row more with the better prompt and one more with the other model, and calls the model twice
 * for the row "xx".
 */
async function workflowFunc({ task, model, systemPrompt, components }: PromptedInput<Row>) {
  expect(components).toMatchObject({ system: systemPrompt, tool: 'z' });
  for (const _ of systemPrompt)
    await model.chat([{ role: 'user', content: `${systemPrompt}${task.question}` }], {
      minTokens: 2,
      maxTokens: 2,
    });
  const solved = (systemPrompt === 'xx' ? 1 : 0) + (model.modelPath.endsWith('trained') ? 1 : 0);
  if (task.question === '7+1' && systemPrompt === 'x') throw new Error('broken');
  return { response: Number(task.answer) - 5 < solved ? task.answer : 'no' };
}
const judgeFunc = ({ task, response }: JudgeInput<Row, string>) => ({
  reward: response === task.answer ? 1 : 0,
});

it('refuses a text that the agent does not have', async () => {
  const model = { modelPath: 'model', maxModelLen: 32 };
  const compared = comparePromptAndWeights({
    ...{ workflowFunc, judgeFunc, evalDataset: { path: 'my_dataset' }, weights: model },
    base: { components: { system: 'x' }, model },
    prompt: { syste: 'xx' },
  });
  await expect(compared).rejects.toThrow(
    'There is no text in base.components named "syste". Did you mean "system"?',
  );
});

it('compares base, prompt, weights and both on the same rows, with their cost', async () => {
  const model = { modelPath: path.join(world.cwd, 'model'), maxModelLen: 32, maxTokens: 4 };
  const report = await comparePromptAndWeights({
    workflowFunc,
    judgeFunc,
    evalDataset: { path: path.join(world.cwd, 'my_dataset'), split: 'test' },
    base: { components: { system: 'x', tool: 'z' }, model },
    prompt: { system: 'xx' },
    weights: { ...model, modelPath: path.join(world.cwd, 'trained') },
    prices: { prefill: 1, sample: 2 },
    tuning: { 'prompt only': { calls: 12, seconds: 1.5 } },
  });
  expect(report.rows).toBe(4);
  expect(report.variants).toMatchObject([
    { name: 'base', reward: 0, failedRows: 1, cost: { calls: 3, outputTokens: 6 } },
    { name: 'prompt only', reward: 0.25, failedRows: 0, cost: { calls: 8, outputTokens: 16 } },
    { name: 'weights only', reward: 0.25, failedRows: 1 },
    { name: 'both', reward: 0.5, components: { system: 'xx', tool: 'z' } },
  ]);
  for (const { cost } of report.variants)
    expect(cost.dollars).toBeCloseTo((cost.inputTokens! + 2 * cost.outputTokens!) / 1e6, 12);
  expect(report.differences.map(({ difference }) => difference.mean)).toEqual([
    0.25, 0.25, 0.5, 0.25, 0.25,
  ]);
  const text = renderPromptAndWeights(report);
  expect(text).toContain('### Prompt and weights, 4 held-out tasks');
  expect(text).toMatch(
    /\| prompt only \| 0\.250 \| .* \| \+0\.250 \(-?\d.*\) \| 1 \/ 0 \/ 3 \| 0 \| 8 \|/,
  );
  expect(text).toContain('- base → both: +0.500');
  expect(text).toContain('- prompt only: 12 calls, 1.5 seconds');
});
