/** Tests a model that all runs share, and that makes one call at a time. */
import { ChatOpenAI } from '@langchain/openai';
import { rolloutContext } from '@trinity-rft/model';
import { inProcessRollouts } from '@trinity-rft/model/testing';
import { scriptedSampler, testRuntime, type AgentRollout } from '@trinity-rft/testing';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { createAgent } from 'langchain';
import { expect, it } from 'vitest';
import { redirectModel, runConfig } from '../src/index.js';

const inProcess = inProcessRollouts();

const context = rolloutContext();
const signal = new AbortController().signal;
const runs = 8;

const sharedModel = (): ChatOpenAI =>
  new ChatOpenAI({
    model: 'tiny',
    apiKey: context.apiKey,
    maxRetries: 0,
    maxConcurrency: 1,
    configuration: { baseURL: context.baseURL, fetch: context.fetch },
  });

const openRollouts = (): Promise<AgentRollout<AgentEndpoint>[]> =>
  Promise.all(
    Array.from({ length: runs }, () => {
      const sampler = scriptedSampler({ script: () => inProcess.encode('Mild.<|im_end|>') });
      return inProcess.open({ sampler, signal });
    }),
  );

/** Recorded questions of each rollout. */
const questions = (
  rollouts: readonly AgentRollout<AgentEndpoint>[],
): readonly (readonly (string | undefined)[])[] =>
  rollouts.map(({ records }) =>
    records().map(({ tokens }) => /Question \d/.exec(inProcess.decode(tokens))?.[0]),
  );

it('makes all but one of concurrent runs fail that find a shared model by the asynchronous context', async () => {
  const model = sharedModel();
  const rollouts = await openRollouts();
  const settled = await Promise.allSettled(
    rollouts.map(({ endpoint }, k) =>
      context.run({ endpoint: () => endpoint }, () => model.invoke(`Question ${k}`)),
    ),
  );
  expect(settled.map(({ status }) => status)).toEqual([
    'fulfilled',
    ...Array.from({ length: runs - 1 }, () => 'rejected'),
  ]);
  // The first run does not notice that the queue made the next run's call in its context.
  expect(questions(rollouts)[0]).toEqual(['Question 0', 'Question 1']);
});

it('does not matter to agents whose calls are redirected', async () => {
  const agent = createAgent({ model: sharedModel(), tools: [], middleware: [redirectModel()] });
  const runtime = testRuntime();
  const rollouts = await openRollouts();
  await Promise.all(
    rollouts.map(({ endpoint }, k) =>
      agent.invoke(
        { messages: [{ role: 'user', content: `Question ${k}` }] },
        runConfig({ endpoint, runtime, signal }),
      ),
    ),
  );
  expect(questions(rollouts)).toEqual(rollouts.map((_, k) => [`Question ${k}`]));
});
