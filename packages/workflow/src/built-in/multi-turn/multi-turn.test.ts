import type { Experience } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { defineWorkflow } from '../../definition/define.js';
import { scriptedModel } from '../../scripted/scripted-model.js';
import { tryWorkflow, workflowContext } from '../../scripted/try-workflow.js';
import { RewardPropagationWorkflow } from './reward-propagation-workflow.js';
import { StepWiseRewardWorkflow } from './step-wise-reward-workflow.js';

const rawTask = { number: 7 };

/** Guesses a number; a step is one guess. */
class Guess extends StepWiseRewardWorkflow {
  hint = 'Guess.';
  async step(): Promise<boolean> {
    const { responseText } = await this.ask(this.hint);
    const off = Number(this.task.rawTask['number']) - Number(responseText);
    this.hint = off > 0 ? 'Higher.' : 'Lower.';
    return off !== 0;
  }
  reward(experiences: readonly Experience[]): number {
    return experiences[0]?.responseText === '7' ? 1 : -0.1;
  }
}
const guess = defineWorkflow({ name: 'guess', workflow: Guess });

describe('StepWiseRewardWorkflow', () => {
  it('gives every step its own reward and number, and the model the whole conversation', async () => {
    const model = scriptedModel({ answers: ['3', '9', '7'] });
    const experiences = (await tryWorkflow(guess, { rawTask, model })) as readonly Experience[];
    expect(experiences.map(({ reward, eid, info }) => [reward, eid.step, info])).toEqual(
      [-0.1, -0.1, 1].map((reward, step) => [reward, step, { step_reward: reward }]),
    );
    expect(model.calls.at(-1)!.messages.map(({ content }) => content)).toEqual([
      'Guess.',
      '3',
      'Higher.',
      '9',
      'Lower.',
    ]);
  });

  it('ends after max_step_num steps, and after an answer that was cut off', async () => {
    const run = (answers: Parameters<typeof scriptedModel>[0]['answers']): Promise<unknown> =>
      tryWorkflow(guess, {
        rawTask,
        model: scriptedModel({ answers }),
        task: { workflowArgs: { max_step_num: 2 } },
      });
    expect(await run(() => '1')).toHaveLength(2);
    expect(await run([{ responseText: '1', finishReason: 'length' }])).toHaveLength(1);
    const wrong = tryWorkflow(guess, {
      rawTask,
      model: scriptedModel({ answers: [] }),
      task: { workflowArgs: { max_step_num: 0 } },
    });
    await expect(wrong).rejects.toThrow(
      'workflow_args.max_step_num: got 0, expected an integer of at least 1.',
    );
  });

  it('numbers what several calls of one step record alike, and asks for no reward of a step without calls', async () => {
    const rewarded: number[] = [];
    class Pairs extends StepWiseRewardWorkflow {
      async step(stepNum: number): Promise<boolean> {
        if (stepNum !== 1) await Promise.all([this.model.chat([]), this.model.chat([])]);
        return stepNum < 2;
      }
      reward(_: readonly Experience[], stepNum: number): number {
        rewarded.push(stepNum);
        return stepNum;
      }
    }
    const run = tryWorkflow(defineWorkflow({ name: 'pairs', workflow: Pairs }), {
      rawTask,
      model: scriptedModel({ answers: () => 'x' }),
    });
    const experiences = (await run) as readonly Experience[];
    expect(experiences.map(({ eid }) => [eid.step, eid.suffix])).toEqual([[0, ''], [0, ''], [2, ''], [2, '']]); // prettier-ignore
    expect(experiences.map(({ info }) => info['step_reward'])).toEqual([0, 0, 0, 2]);
    expect(rewarded).toEqual([0, 2]);
  });
});

class Walk extends RewardPropagationWorkflow {
  static override readonly canReset = true;
  async step(stepNum: number): Promise<boolean> {
    await this.ask(`step ${stepNum}`);
    return stepNum < 2;
  }
  reward(experiences: readonly Experience[]): number {
    return experiences.length;
  }
}

describe('RewardPropagationWorkflow', () => {
  it('gives the reward of the end to every step', async () => {
    const model = scriptedModel({ answers: () => 'on' });
    const experiences = (await tryWorkflow(defineWorkflow({ name: 'walk', workflow: Walk }), {
      rawTask,
      model,
    })) as readonly Experience[];
    expect(experiences.map(({ reward, eid, metrics }) => [reward, eid.step, metrics])).toEqual(
      [0, 1, 2].map((step) => [3, step, { actual_env_steps: 3 }]),
    );
  });

  it('begins a new conversation when the instance is used again', async () => {
    const model = scriptedModel({ answers: () => 'on' });
    const instance = defineWorkflow({ name: 'walk', workflow: Walk }).create(
      workflowContext({ rawTask, model }),
    );
    await instance.run();
    await instance.reset?.(workflowContext({ rawTask, model }));
    await instance.run();
    expect(model.calls[3]!.messages).toEqual([{ role: 'user', content: 'step 0' }]);
  });
});
