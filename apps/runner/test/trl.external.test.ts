/** Tests training with TRL in an environment that `trinity env serve` serves. */
import path from 'node:path';
import { createRuntime } from '@trinity-rft/core';
import { createModel } from '@trinity-rft/launcher';
import { listEnvironments } from '@trinity-rft/launcher/parts';
import { findPython, runPython } from '@trinity-rft/test-support';
import { describe, expect, it } from 'vitest';
import { startTrinity, type Trinity } from './support/trinity.js';
import { createWorkspace } from './support/workspace.js';

const script = path.join(import.meta.dirname, 'external', 'trl_step.py');
const packages = ['trl==1.16.0', 'openenv==0.10.0', 'torch==2.15.0', 'transformers==5.23.0'];
const lake = { level: 1 };
const [tasks, runs] = [4, 8];
/** Task index of each episode. */
const indices = Array.from({ length: tasks * runs }, (_, i) => Math.floor(i / runs));

const printable = Array.from({ length: 95 }, (_, i) => String.fromCodePoint(32 + i));
const tokenizer = {
  characters: [...printable, '\n'],
  words: [
    // Long texts of the chat template are single tokens.
    ...['You may call one or more functions to assist with the user query.'],
    ...['You are provided with function signatures within <tools></tools> XML tags:'],
    ...['For each function call, return a json object with function name and arguments within'],
    ...['{"type": "function", "function": {"name": "move", "description": "'],
    ...['"parameters": {"type": "object", "properties": {"direction": {"type": "string", "'],
    '{"name": "move", "arguments": {"direction": "',
    '"}}',
    ...['left', 'down', 'right', 'up'],
    ...['<think>', '</think>', '<tool_response>', '</tool_response>', 'You cannot go'],
  ],
  markers: ['<tool_call>', '</tool_call>'],
};
const config = {
  hiddenSize: 64,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 16,
  maxPositions: 2048,
};

interface Answer {
  /** Every episode of the step, as the official client saw it. */
  readonly played: readonly {
    readonly index: number;
    readonly actions: readonly string[];
    readonly rewards: readonly (number | null)[];
  }[];
  readonly log: Readonly<Record<string, number>>;
  /** Largest change of a weight by the step. */
  readonly moved: number;
}

async function serve(root: string): Promise<{ readonly server: Trinity; readonly url: string }> {
  const args = ['env', 'serve', 'frozen_lake', '--port', '0', '--args', JSON.stringify(lake)];
  const server = startTrinity(root, args);
  const isUp = /is at (http\S+)/;
  await expect.poll(server.output, { timeout: 60_000 }).toMatch(isUp);
  return { server, url: isUp.exec(server.output())?.[1] ?? '' };
}

/** Rewards of the same actions in the environment itself, without a server. */
async function rewardsHere({ index, actions }: Answer['played'][number]): Promise<number[]> {
  const world = (await listEnvironments({})).find(({ name }) => name === 'frozen_lake');
  if (world?.tasks === undefined) throw new Error('unreachable');
  const [row = {}] = world.tasks({ split: 'train', count: 1000, seed: 0 }, lake).slice(index);
  const { signal } = new AbortController();
  const environment = await world.open(lake, { logger: createRuntime().logger, signal });
  const episode = await environment.reset({ row, seed: 0 }, signal);
  const rewards: number[] = [];
  for (const text of actions) {
    const { reward } = await episode.step({ type: 'text', text }, signal);
    rewards.push(reward ?? 0);
  }
  await environment.close();
  return rewards;
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

describe("TRL's environment factory", { tags: ['external'], timeout: 1_800_000 }, () => {
  it('makes a step on frozen_lake, with the rewards that the world gives', async ({ skip }) => {
    const python = await findPython(packages);
    if ('missing' in python) return skip(python.missing);
    const { root } = await createWorkspace();
    const model = path.join(root, 'new-model');
    await createModel({ directory: model, tokenizer, config, initializerRange: 0.08, seed: 1 });
    const served = await serve(root);
    try {
      const args = [script, served.url, model, path.join(root, 'trl')];
      const { played, log, moved } = await runPython<Answer>(python.program, args);
      const here = await Promise.all(played.map(rewardsHere));
      expect(played.map(({ rewards }) => rewards.map((reward) => reward ?? 0))).toEqual(here);
      expect(played.map(({ index }) => index).toSorted((a, b) => a - b)).toEqual(indices);
      const rewards = here.map(sum);
      expect(new Set(rewards)).toEqual(new Set([0, 1]));
      expect(log['reward']).toBeCloseTo(sum(rewards) / rewards.length, 6);
      expect(log['rewards/LakeEnvironment/mean']).toBe(log['reward']);
      expect(log['tools/failure_frequency']).toBe(0);
      expect(log['grad_norm']).toBeGreaterThan(0);
      expect(moved).toBeGreaterThan(0);
    } finally {
      served.server.child.kill('SIGINT');
      await served.server.ended;
    }
  });
});
