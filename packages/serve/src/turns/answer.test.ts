import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { createExperience, encodeExperience } from '@trinity-rft/core';
import { expect, it, onTestFinished } from 'vitest';
import { answerQuestions } from './answer.js';
import type { Answer, Answers, Question } from './protocol.js';
import { openTurnDatabase, type EncodedCall } from './sqlite.js';

const bytes = encodeExperience(createExperience({ tokens: [1, 2], promptLength: 1, logprobs: [-1], policyVersion: 0, temperature: 1 }));
const call = (msgId: string): EncodedCall => ({ msgId, session: 's', experiences: [bytes] });

it('stores what arrives together together, before anything else is answered, and each alone where that fails', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'trinity-serve-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const groups: (readonly string[])[] = [];
  const database = openTurnDatabase({ path: path.join(folder, 'calls.db') });
  const { port1, port2 } = new MessageChannel();
  const ask = (id: number, method: Question['method'], ...args: readonly unknown[]): void => port1.postMessage([{ id, method, args }]);
  for (const [at, msgId] of ['a', 'b', 'c'].entries()) ask(at + 1, 'record', call(msgId));
  ask(4, 'counts');
  for (const [at, msgId] of ['d', 'a', 'e'].entries()) ask(at + 5, 'record', call(msgId));
  const messages: Answers[] = [];
  const ended = new Promise((resolve) => port1.once('close', resolve));
  port1.on('message', (answers: Answers) => {
    messages.push(answers);
    if (messages.length === 3) ask(8, 'close');
  });
  answerQuestions(port2, () => ({
    ...database,
    record: (calls) => {
      groups.push(calls.map(({ msgId }) => msgId));
      database.record(calls);
    },
  }));
  await ended;
  expect(groups).toEqual([['a', 'b', 'c'], ['d', 'a', 'e'], ['d'], ['a'], ['e']]);
  const outcome = (answer: Answer): unknown => ('error' in answer ? answer.error.code : answer.result);
  expect(messages.map((answers) => answers.map((answer) => [answer.id, outcome(answer)]))).toEqual([
    [[0, 1]],
    [
      [1, undefined],
      [2, undefined],
      [3, undefined],
      [4, { total: 3, open: 3, ready: 0, committed: 0 }],
    ],
    [
      [5, undefined],
      [6, 'SERVE_STORAGE'],
      [7, undefined],
    ],
    [[8, undefined]],
  ]);
});
