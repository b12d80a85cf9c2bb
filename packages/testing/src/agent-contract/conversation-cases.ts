/**
 * Contract cases: one test per scripted conversation. Each test checks how the framework behaves,
 * and that every sampled token is recorded.
 */
import { expect, it } from 'vitest';
import { conversations, expectationOf, type ConversationName } from './expected.js';
import type { AgentContract } from './fixture.js';
import type { AgentMode } from './expected.js';
import { play, type Played, type Sampled } from './play.js';

export function conversationCases<Endpoint>(
  contract: AgentContract<Endpoint>,
  mode: AgentMode,
): void {
  for (const name of Object.keys(conversations) as ConversationName[]) {
    const { expected, because } = expectationOf(name, mode, contract.deviations);
    it(`plays ${[name, ...because].join('; ')}`, async () => {
      const played = await play(contract, { replies: conversations[name].replies, mode });
      if (expected.ends === 'answer' && 'error' in played.outcome) throw played.outcome.error;
      expect(asExpected(played, expected.text !== undefined)).toEqual(
        expected.ends === 'answer' ? expected : withoutText(expected),
      );
      expectExactRecords(played);
      expectContinuedPaths(played);
      expect(played.open).toBe(0);
    });
  }
}

const withoutText = (expected: object): object => ({ ...expected, text: undefined });

function asExpected({ outcome, executed, records, metrics }: Played, withText: boolean): object {
  return {
    ends: 'text' in outcome ? 'answer' : 'error',
    text: 'text' in outcome && withText ? outcome.text : undefined,
    executed,
    recorded: records.length,
    forks: forksOf(metrics),
  };
}

function forksOf(metrics: Played['metrics']): Readonly<Record<string, number>> {
  const prefix = 'model/fork/';
  return Object.fromEntries(
    Object.entries(metrics).flatMap(([name, count]) =>
      name.startsWith(prefix) ? [[name.slice(prefix.length), count]] : [],
    ),
  );
}

/**
 * Checks that the rollout's records contain exactly the prompts and tokens of the sampler's
 * successful calls.
 */
export function expectExactRecords({
  records,
  sampled,
}: Pick<Played, 'records' | 'sampled'>): void {
  const recorded = records.map(({ tokens, promptLength }) => [
    [...tokens.subarray(0, promptLength)],
    [...tokens.subarray(promptLength)],
  ]);
  expect(recorded).toEqual(sampled.map(({ prompt, tokens }) => [[...prompt], [...tokens]]));
  for (const { actionMask, logprobs, tokens, promptLength } of records) {
    expect(actionMask).toEqual(new Uint8Array(tokens.length - promptLength).fill(1));
    expect(logprobs).toHaveLength(tokens.length - promptLength);
  }
}

/**
 * Checks that each prompt continues the tokens of the previous call, except the first prompt and
 * those of calls that fork.
 */
function expectContinuedPaths({ sampled, metrics }: Played): void {
  const forks = Object.values(forksOf(metrics)).reduce((sum, count) => sum + count, 0);
  const continued = sampled.slice(1).filter((call, i) => startsWith(call, sampled[i]!)).length;
  expect(continued).toBe(Math.max(0, sampled.length - 1) - forks);
  expect(metrics['model/spliced']).toBe(continued);
}

function startsWith({ prompt }: Sampled, before: Sampled): boolean {
  const base = [...before.prompt, ...before.tokens];
  return base.every((id, i) => prompt[i] === id);
}
