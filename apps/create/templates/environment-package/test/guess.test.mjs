import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playRound } from '../dist/round.js';

const say = (text) => ({ type: 'text', text });

test('hints lead to the number, which is worth 1', () => {
  const round = playRound(42, 99);
  assert.equal(round.step(say('50')).observation, 'lower');
  assert.equal(round.step(say('40')).observation, 'higher');
  assert.deepEqual(round.step(say('42')), { observation: 'right', reward: 1, done: true });
});

test('what is no number is refused, and a near guess is worth something', () => {
  const round = playRound(42, 99);
  assert.equal(round.step(say('many')).refused, true);
  assert.equal(round.grade(), 0);
  round.step(say('41'));
  assert.ok(round.grade() > 0.49);
});
