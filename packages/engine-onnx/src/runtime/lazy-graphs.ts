/** Graphs by name, loaded when they are first needed. */
import type { ModelRecord } from '../onnx/graph/record.js';
import type { GraphKind, GraphRuntime, LoadedGraph } from './graph-runtime.js';

export interface LazyGraphs {
  /**
   * Returns the graph `name`. The first call loads it.
   * @param record creates the record of the graph
   */
  get(name: string, record: () => ModelRecord): Promise<LoadedGraph>;
  /** Frees memory that was kept from earlier executions. */
  trim(): Promise<void>;
  /** Frees the graphs. */
  close(): Promise<void>;
}

export function lazyGraphs(runtime: GraphRuntime, kind: GraphKind): LazyGraphs {
  const graphs = new Map<string, Promise<LoadedGraph>>();
  return {
    get: (name, record) => {
      const known = graphs.get(name);
      if (known) return known;
      const graph = runtime.load(record(), kind);
      graphs.set(name, graph);
      // After a failure, the next call loads the graph again.
      graph.catch(() => graphs.delete(name));
      return graph;
    },
    trim: async () => {
      for (const graph of await loaded(graphs)) await graph.trim();
    },
    close: async () => {
      const found = await loaded(graphs);
      graphs.clear();
      for (const graph of found) await graph.free();
    },
  };
}

/** Waits until all graphs are loaded or have failed to load. Returns those that are loaded. */
async function loaded(
  graphs: ReadonlyMap<string, Promise<LoadedGraph>>,
): Promise<readonly LoadedGraph[]> {
  const outcomes = await Promise.allSettled(graphs.values());
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
}
