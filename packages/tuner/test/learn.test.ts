import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { learn, LearnConfig, type WorkflowInput } from '../src/index.js';
import { tinyWorld } from './tiny.js';

const yaml = `project: Mine
name: first
algorithm: { algorithm_type: multi_step_grpo, repeat_times: 2 }
model: { model_path: model, max_model_len: 32, max_response_tokens: 8 }
buffer:
  batch_size: 2
  explorer_input:
    taskset: { name: sums, path: my_dataset/train.jsonl, default_workflow_type: math_workflow }
`;

describe('learn', () => {
  let world: Awaited<ReturnType<typeof tinyWorld>>;
  beforeAll(async () => void (world = await tinyWorld()));
  afterAll(() => rmSync(world.cwd, { recursive: true, force: true }));

  const config = (text: string): LearnConfig => {
    writeFileSync(path.join(world.cwd, 'config.yaml'), text);
    return LearnConfig.loadConfig('config.yaml', { cwd: world.cwd });
  };

  it('trains with a function that returns its reward, whatever workflow the file names', async () => {
    const seen = new Set<string>();
    const summary = await learn({
      workflowFunc: async ({
        task,
        model,
        signal,
      }: WorkflowInput<{ readonly question: string; readonly answer: string }>) => {
        seen.add(task.question);
        const { choices } = await model
          .openaiClient()
          .chat.completions.create(
            { model: model.modelPath, messages: [{ role: 'user', content: task.question }] },
            { signal },
          );
        return choices[0]!.message.content === task.answer ? 1 : 0;
      },
      config: config(yaml),
      terminal: world.terminal,
    });
    expect(summary).toMatchObject({
      trainStep: 2,
      jobDirectory: path.join(world.cwd, 'checkpoints', 'Mine', 'first'),
    });
    expect([...seen].toSorted()).toEqual(['0+1', '1+1', '2+1', '3+1']);
  });

  it('tells every mistake of the file with its place, when it is loaded', () => {
    expect(() =>
      config(
        yaml.replace('repeat_times: 2', 'repeat_times: two').replace('batch_size', 'batchsize'),
      ),
    ).toThrow(
      /config\.yaml:3:\d+ algorithm\.repeat_times[\s\S]*config\.yaml:6:3 buffer\.batchsize/,
    );
    expect(() => LearnConfig.loadConfig('nowhere.yaml', { cwd: world.cwd })).toThrow(
      /nowhere\.yaml cannot be read/,
    );
  });

  it.each([
    [undefined, 'returned nothing'],
    [Number.NaN, 'returned NaN'],
    ['1', 'returned a value of type string'],
  ])('says that %j is no reward, before anything is trained', async (reward, message) => {
    const workflowFunc = async function solve({ model }: WorkflowInput): Promise<number> {
      await model.chat([{ role: 'user', content: '1+1' }]);
      return reward as number;
    };
    const tried = learn({
      workflowFunc,
      config: config(yaml.replace('first', 'second')),
      terminal: world.terminal,
    });
    await expect(tried).rejects.toMatchObject({
      name: 'InvalidOutputError',
      message: `Workflow function "solve" ${message}; learn() expects the reward, a finite number.`,
    });
  });
});
