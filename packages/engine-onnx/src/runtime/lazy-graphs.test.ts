import { expect, test } from 'vitest';

import { EngineError } from '@trinity-rft/core';

import type { GraphRuntime, LoadedGraph, ModelRecord } from './graph-runtime.js';
import { lazyGraphs } from './lazy-graphs.js';

const record = (): ModelRecord => ({}) as ModelRecord;

/** Graphs of a runtime whose first load fails, and the list of calls. */
function failingOnce() {
  const calls: string[] = [];
  const graph: LoadedGraph = {
    run: () => Promise.resolve({}),
    trim: async () => void calls.push('trim'),
    free: async () => void calls.push('free'),
  };
  const load = async (): Promise<LoadedGraph> => {
    calls.push('load');
    if (calls.length === 1) throw new EngineError('The machine is out of memory.');
    return graph;
  };
  return { calls, graph, graphs: lazyGraphs({ load } as unknown as GraphRuntime, 'train') };
}

test('a graph whose first load fails loads the second time, and then no more', async () => {
  const { calls, graph, graphs } = failingOnce();
  await expect(graphs.get('layer', record)).rejects.toThrow('out of memory');
  expect(await graphs.get('layer', record)).toBe(graph);
  expect(await graphs.get('layer', record)).toBe(graph);
  expect(calls).toEqual(['load', 'load']);
});

test('graphs are trimmed and freed while the load of another one fails', async () => {
  const { calls, graphs } = failingOnce();
  const failing = graphs.get('first', record);
  await graphs.get('second', record);
  const work = [graphs.trim(), graphs.close(), failing.catch(() => undefined)];
  await Promise.all(work);
  await graphs.close();
  expect(calls).toEqual(['load', 'load', 'trim', 'free']);
});
