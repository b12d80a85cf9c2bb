/** Plays our worlds over HTTP with OpenEnv's own Python client. */
import { fileURLToPath } from 'node:url';
import { deriveSeed, silentLogger } from '@trinity-rft/core';
import { serveEnvironment, type EnvironmentDefinition } from '@trinity-rft/environment';
import { findPython, runPython } from '@trinity-rft/test-support';
import { describe, expect, it, type TestContext } from 'vitest';
import { builtInEnvironments } from '../../src/index.js';

const script = fileURLToPath(new URL('play.py', import.meta.url));
const { signal } = new AbortController();
type Seen = readonly (readonly [message: string, reward: number | null, done: boolean])[];

function worldOf(name: string): EnvironmentDefinition {
  const world = builtInEnvironments.find((each) => each.name === name);
  if (world === undefined) throw new Error(`There is no world ${name}.`);
  return world;
}

/** Actions of the solver for the first evaluation task. */
async function solution(definition: EnvironmentDefinition): Promise<readonly string[]> {
  const [row = {}] = definition.tasks?.({ split: 'eval', count: 5, seed: 0 }, {}) ?? [];
  const start = { row, seed: deriveSeed(0, 'eval') };
  const environment = await definition.open({}, { logger: silentLogger, signal });
  const episode = await environment.reset(start, signal);
  const solve = definition.solver?.(start, {});
  const actions: string[] = [];
  let observation = episode.observation;
  for (let done = false; !done;) {
    const action = solve?.(observation);
    if (action?.type !== 'text') throw new Error('The solver gave up.');
    actions.push(action.text);
    ({ observation, done } = await episode.step(action, signal));
  }
  await environment.close();
  return actions;
}

describe('OpenEnv in Python', { tags: ['external'], timeout: 1_200_000 }, () => {
  it.for(['frozen_lake', 'webshop'])(
    'plays %s to its best end',
    async (name, context: TestContext) => {
      const python = await findPython(['openenv==0.10.0']);
      if ('missing' in python) return context.skip(python.missing);
      const definition = worldOf(name);
      const actions = await solution(definition);
      const server = await serveEnvironment({ definition, tasks: 5 });
      try {
        const reset = JSON.stringify({ split: 'eval', index: 0 });
        const args = [script, server.url, reset, JSON.stringify(actions)];
        const seen = await runPython<Seen>(python.program, args);
        expect(seen.map(([, , done]) => done)).toEqual([...actions.map(() => false), true]);
        expect(seen.at(-1)?.[1]).toBe(1);
      } finally {
        await server.close();
      }
    },
  );
});
