import { silentLogger } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { learnToAsk } from './definition.js';

const { signal } = new AbortController();
const open = {
  messages: [{ role: 'user', content: 'I have a cough.' }],
  decision_truth: 'continue',
  info_truth: ['fever'],
};
const complete = { ...open, decision_truth: 'stop', info_truth: [] };

async function rewardOf(row: Readonly<Record<string, unknown>>, text: string) {
  const environment = await learnToAsk.open({ scoring: 'fused' }, { logger: silentLogger, signal });
  const episode = await environment.reset({ row, seed: 0 }, signal);
  return (await episode.step({ type: 'text', text }, signal)).reward;
}

it.each([
  [open, 'Do you have a fever?', 4],
  [open, 'Do you have a fever? And do you smoke?', 3],
  [open, 'Do you smoke?', 2],
  [{ ...open, info_truth: ['age'] }, 'How do you manage this message?', 2],
  [{ ...open, info_truth: ['age'] }, 'What is your age?', 4],
  [{ ...open, info_truth: ['age'] }, 'Were you in any agency?', 2],
  [{ ...open, info_truth: ['fever'] }, 'Did you measure your temperatures?', 4],
  [{ ...open, info_truth: ['allergies'] }, 'Which allergens do you react to?', 4],
  [{ ...open, info_truth: ['history'] }, 'Did you have this previously?', 4],
  [{ ...open, info_truth: ['severity'] }, 'How severely does it hurt?', 4],
  [{ ...open, info_truth: ['severity'] }, 'Are there several pillows?', 2],
  [{ ...open, info_truth: ['duration'] }, 'What was it like, starting out?', 4],
  [open, '<stop />', 0],
  [open, '', 0],
  [complete, '<stop />', 4],
  [complete, 'All is known. <stop />', 3],
  [complete, 'Do you have a fever?', 0],
])('scores %j and %j with %d, as Trinity-RFT fuses the parts', async (row, text, reward) => {
  expect(await rewardOf(row, text)).toBe(reward);
});
