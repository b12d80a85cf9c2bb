/** A run whose reward is the scorer of an evaluation, named in its YAML. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readExperiences } from '@trinity-rft/buffer';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createModel } from '../src/create-model.js';
import { additionTasks, lengths, runAddition } from './support/addition.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-scorers-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
beforeAll(async () => {
  await createModel({
    directory: path.join(root, 'model'),
    tokenizer: { characters: '0123456789+=\n' },
    seed: 1,
  });
  writeFileSync(path.join(root, 'tasks.jsonl'), '{"question":"1+1=","answer":"2"}\n'.repeat(4));
  writeFileSync(
    path.join(root, 'own.eval.ts'),
    `type Case = { readonly output: string; readonly expected: string; readonly metadata: object };
    export const Length = {
      name: 'Length',
      scorer: ({ output, metadata }: Case) => ({
        score: output.length / 10,
        metadata: { rationale: \`\${output.length} letters for \${Object.keys(metadata)}\` },
      }),
    };
    let calls = 0;
    export const Later = () => (calls++ === 0 ? null : { score: 1 });`,
  );
});

const experiencesOf = async (name: string, default_reward_fn_type: string) => {
  const { data_selector: _, ...taskset } = additionTasks.taskset;
  await runAddition({
    root,
    name,
    changes: {
      model: { model_path: 'model', ...lengths },
      algorithm: { algorithm_type: 'grpo', repeat_times: 4 },
      explorer: { max_retry_times: 0 },
      buffer: {
        batch_size: 2,
        total_steps: 2,
        explorer_input: {
          taskset,
          default_workflow_type: 'simple_workflow',
          default_reward_fn_type,
        },
      },
    },
  });
  const reader = readExperiences(path.join(root, `runs/test/${name}/buffer/experience_buffer.db`));
  const rows = reader.rowsAfter(0, 100);
  reader.close();
  return rows.map(({ experience }) => experience);
};

it('stores the reason of every reward', async () => {
  const experiences = await experiencesOf('reasons', './own.eval.ts#Length');
  expect(experiences).toHaveLength(16);
  for (const { reward, responseText = '', metrics, info } of experiences) {
    expect(reward).toBeCloseTo(responseText.length / 10);
    expect(metrics['Length']).toBe(reward);
    expect(info['reasons']).toEqual({
      Length: `${responseText.length} letters for question,answer`,
    });
  }
});

it('trains on no run whose scorer gave nothing', async () => {
  const rewards = (await experiencesOf('failing', 'own.eval.ts#Later')).map((one) => one.reward);
  // The workflow asks for the four answers to a task at once, but one of them fails alone.
  expect(rewards).toEqual(Array.from({ length: 15 }, () => 1));
});
