import { createExperience } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { experienceJson } from './experience-json.js';

it('shows an experience without its tokens', () => {
  const experience = createExperience({
    eid: { batch: 3, task: 1, run: 2, step: 0, suffix: 'x' },
    tokens: [1, 2, 3, 4],
    promptLength: 2,
    actionMask: [1, 0],
    reward: 0.5,
    policyVersion: 4,
    promptText: 'What is 1 + 1?',
    responseText: '2',
    metrics: { accuracy: 1 },
    info: { answer: '2' },
  });
  expect(experienceJson(experience)).toEqual({
    eid: '3/1/2/0/x',
    type: 'multi_turn',
    prompt_length: 2,
    response_length: 2,
    model_version: 4,
    reward: 0.5,
    prompt_text: 'What is 1 + 1?',
    response_text: '2',
    metrics: { accuracy: 1 },
    info: { answer: '2' },
  });
});

it('leaves out what the experience does not have', () => {
  const plain = experienceJson(createExperience({ tokens: [1, 2], promptLength: 1 }));
  expect(plain.type).toBe('single_turn');
  expect(Object.keys(plain)).toEqual([
    'eid',
    'type',
    'prompt_length',
    'response_length',
    'model_version',
    'metrics',
    'info',
  ]);
});
