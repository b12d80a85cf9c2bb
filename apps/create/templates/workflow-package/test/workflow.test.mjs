import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scriptedModel, tryWorkflow } from '@trinity-rft/workflow';
import { estimate } from '../dist/index.js';

const rewardOf = (answer) =>
  tryWorkflow(estimate, {
    model: scriptedModel({ answers: [answer] }),
    rawTask: { question: '20*30', response: '600' },
  });

test('the right number has the reward 1, a near one less', async () => {
  assert.deepEqual(await rewardOf('600'), { reward: 1 });
  assert.deepEqual(await rewardOf('540'), { reward: 0.9 });
});

test('no number has no reward', async () => {
  assert.deepEqual(await rewardOf('many'), { reward: 0 });
  assert.deepEqual(await rewardOf(''), { reward: 0 });
});
