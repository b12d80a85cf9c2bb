import { silentLogger } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { emailSearch } from './definition.js';
import { rubricScore } from './score.js';

const { signal } = new AbortController();

async function begin(args: Readonly<Record<string, unknown>>) {
  const environment = await emailSearch.open(args, { logger: silentLogger, signal });
  const [row = {}] = emailSearch.tasks?.({ split: 'train', count: 1, seed: 3 }, args) ?? [];
  const episode = await environment.reset({ row, seed: 0 }, signal);
  const call = (name: string, given: Readonly<Record<string, unknown>>) =>
    episode.step({ type: 'tool', name, arguments: given }, signal);
  return { environment, episode, row, call };
}

it('finds, reads and answers, and scores by the rubric of Trinity-RFT', async () => {
  const { environment, row, call } = await begin({ level: 1, scoring: 'rubric' });
  const { question, answer, message_ids: ids } = row as Readonly<Record<string, string & string[]>>;
  const project = /\b(?:of|for|the) ([A-Z]\w+)/.exec(String(question))?.[1] ?? '';
  const hits = await call('search_emails', { keywords: [project] });
  expect(hits.observation).toContain(String(ids?.[0]));
  expect((await call('read_email', { message_id: ids?.[0] })).observation).toContain(
    String(answer),
  );
  const result = await call('generate_response', {
    answer: `It is ${String(answer)}.`,
    sources: ids,
  });
  expect(result).toMatchObject({ done: true, reward: 2 + 0.3 + 0.1 + 0.1 * 0.7 });
  await environment.close();
});

it.each(["I don't know.", 'I don’t know', 'I do not know.'])(
  'takes %s for no answer, not for a wrong one',
  async (answer) => {
    const { environment, call } = await begin({ level: 1, scoring: 'rubric' });
    const result = await call('generate_response', { answer });
    expect(result).toMatchObject({ done: true, reward: 0 });
    await environment.close();
  },
);

it('refuses calls that do not fit, with the reason', async () => {
  const { environment, call } = await begin({ level: 1 });
  expect(await call('search_emails', { keywords: 'x' })).toMatchObject({
    refused: true,
    observation: expect.stringContaining('keywords') as string,
  });
  expect(await call('delete_email', {})).toMatchObject({
    refused: true,
    observation:
      'There is no tool delete_email. There are search_emails, read_email, generate_response.',
  });
  await environment.close();
});

it('tells wrong answers, none and right ones apart', () => {
  const none = {
    sources: [],
    found: new Set(['a']),
    read: new Set<string>(),
    gold: 'a',
    turns: 5,
    maxTurns: 10,
  };
  expect(rubricScore({ ...none, answer: 'x', isRight: false })).toBeCloseTo(-0.9);
  expect(rubricScore({ ...none, answer: undefined, isRight: false })).toBeCloseTo(0.1);
  expect(rubricScore({ ...none, answer: 'x', isRight: true })).toBeCloseTo(2.05);
});
