import { rmSync } from 'node:fs';
import path from 'node:path';
import { scriptedModel } from '@trinity-rft/workflow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tunePrompt, type PromptInput } from '../src/index.js';
import { tinyWorld } from './tiny.js';

interface Row {
  readonly question: string;
  readonly answer: string;
}

/** An agent that answers all the better the more of three words its prompt has. */
const solve = ({ systemPrompt, task }: PromptInput<Row>) => {
  if (systemPrompt.includes('crash')) throw new Error('cannot');
  return {
    response:
      ['digits', 'only', 'short'].filter((word) => systemPrompt.includes(word)).length +
      (task.answer === '1' ? -1 : 0),
  };
};
const judge = ({ response }: { readonly response: number }) => ({ reward: response / 3 });

describe('tunePrompt', () => {
  let world: Awaited<ReturnType<typeof tinyWorld>>;
  beforeAll(async () => void (world = await tinyWorld()));
  afterAll(() => rmSync(world.cwd, { recursive: true, force: true }));

  const options = (answers: readonly string[], optimizationLevel: 'light' | 'medium' = 'light') => {
    const proposer = scriptedModel({
      answers: (_, i) => answers[(proposer.calls.length - 1 + i) % answers.length]!,
    });
    const trainDataset = { path: path.join(world.cwd, 'my_dataset') };
    return {
      proposer,
      call: {
        workflowFunc: solve,
        judgeFunc: judge,
        initSystemPrompt: 'Answer.',
        trainDataset,
        config: { proposer, optimizationLevel },
      },
    };
  };

  it('keeps the prompt with the best mean reward, and shows the proposer where the best one failed', async () => {
    const { proposer, call } = options([
      'Try <prompt>Answer in digits.</prompt>',
      '<prompt>crash</prompt>',
      '<prompt>Answer in digits only.</prompt>',
      '<prompt>Answer in digits.</prompt>',
      'Short: answer in digits only, and short.',
      '<prompt>Answer.</prompt>',
    ]);
    const tuned = await tunePrompt({
      ...call,
      evalDataset: { ...call.trainDataset, split: 'test' },
    });
    expect(tuned.prompt).toBe('Short: answer in digits only, and short.');
    expect(tuned.metrics).toMatchObject({
      prompts_tried: 5,
      valset_reward: 0,
      valset_reward_best: 1,
      trainset_reward_best: 11 / 12,
    });
    expect(tuned.metrics).not.toHaveProperty('valset_improvement');
    expect(proposer.calls).toHaveLength(6);
    const asked = proposer.calls.map(({ messages }) => messages[1]!.content as string);
    expect(asked[2]).toContain(
      'Best prompt, mean reward 0.250:\nAnswer in digits.\n\nIts worst rows:\nTask: {"question":"0+1","answer":"1"}\nResponse: 0',
    );
    expect(asked[2]).toContain('Another prompt, mean reward 0.000:\ncrash');
  });

  it('gives the improvement on rows that it did not see, in percent', async () => {
    const { call } = options(['<prompt>digits only</prompt>']);
    const tuned = await tunePrompt({
      ...call,
      initSystemPrompt: 'digits',
      evalDataset: { ...call.trainDataset, split: 'test' },
    });
    expect(tuned.metrics['valset_improvement']).toBeCloseTo(100);
    expect(tuned.metrics['prompts_tried']).toBe(2);
  });

  it('says that the proposer wrote nothing, and rejects unknown settings', async () => {
    const { call } = options(['<prompt> </prompt>']);
    await expect(tunePrompt(call)).rejects.toMatchObject({ code: 'PROPOSAL_EMPTY' });
    await expect(
      tunePrompt({ ...call, config: { ...call.config, optimizationLevel: 'extreme' as 'light' } }),
    ).rejects.toThrow('PromptTuneConfig is invalid: optimizationLevel');
    await expect(
      tunePrompt({ ...call, config: { proposer: { modelPath: 'm', maxModelLen: 9 } } }),
    ).rejects.toMatchObject({
      code: 'PROPOSER_NOT_REMOTE',
    });
  });
});
