/** Contract cases: sampling settings, aborts and concurrency of rollouts. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sampler } from '@trinity-rft/core/engine';
import { expect, it } from 'vitest';
import { expectExactRecords } from './conversation-cases.js';
import type { AgentContract } from './fixture.js';
import type { AgentMode } from './expected.js';
import { play, weatherTool } from './play.js';

/**
 * Time limit after an abort, in ms. It is long enough for slow machines, and too short for an agent
 * that continues to retry.
 */
const promptlyMs = 30_000;

export function rolloutCases<Endpoint>(contract: AgentContract<Endpoint>, mode: AgentMode): void {
  const { concurrentRollouts = 64 } = contract;

  it('keeps the sampling settings of the run, whatever the agent asks for', async () => {
    const replies = ['Mild.'];
    const plain = await play(contract, { replies, mode });
    const asking = await play(contract, {
      replies,
      mode,
      run: { settings: { temperature: 0, seed: 1 } },
    });
    expect(plain.settings).toHaveLength(1);
    expect(asking.settings).toEqual(plain.settings);
  });

  it('ends promptly when the run is aborted, records nothing of the open call and leaves none behind', async () => {
    const abort = new AbortController();
    let open = 0;
    let abortedMs = NaN;
    const hanging = (inner: Sampler): Sampler => ({
      ...inner,
      policyVersion: 0,
      sample: async (_prompt, _options, signal) => {
        open++;
        setImmediate(() => {
          abortedMs = performance.now();
          abort.abort(new Error('the run has ended'));
        });
        try {
          await sleep(promptlyMs, undefined, { signal });
          return [];
        } finally {
          open--;
        }
      },
    });
    const { outcome, records } = await play(contract, {
      replies: [],
      mode,
      wrap: hanging,
      signal: abort.signal,
    });
    expect(performance.now() - abortedMs).toBeLessThan(promptlyMs);
    expect(outcome).not.toMatchObject({ text: expect.stringMatching(/./) as string });
    expect(records).toEqual([]);
    expect(open).toBe(0);
  });

  it(`keeps ${concurrentRollouts} rollouts apart that share one agent object`, async () => {
    const agent = contract.createAgent([weatherTool(() => undefined)]);
    const uneven = (k: number) => (inner: Sampler) => {
      const sample: Sampler['sample'] = async (...args) => {
        await sleep((k * 7) % 5);
        return inner.sample(...args);
      };
      return { ...inner, policyVersion: 0, sample };
    };
    const played = await Promise.all(
      Array.from({ length: concurrentRollouts }, async (_, k) => {
        const replies = [
          `<tool_call>\n{"name": "weather", "arguments": {"city": "Town ${k}."}}\n</tool_call>`,
          `Answer ${k}.`,
        ];
        return play(contract, {
          replies,
          mode,
          agent,
          run: { question: `Question ${k}.` },
          wrap: uneven(k),
        });
      }),
    );
    for (const [k, { outcome, records, sampled, open }] of played.entries()) {
      expect(outcome).toEqual({ text: `Answer ${k}.` });
      expect(open).toBe(0);
      expect(records).toHaveLength(2);
      expectExactRecords({ records, sampled });
      const texts = records.map(({ tokens }) => contract.decode(tokens));
      expect(texts.map((text) => /Question \d+\./g.exec(text)?.[0])).toEqual([
        `Question ${k}.`,
        `Question ${k}.`,
      ]);
      expect(texts[1]).toContain(`12 degrees in Town ${k}.`);
    }
  });
}
