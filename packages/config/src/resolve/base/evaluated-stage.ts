/** Chooses the stage that an evaluation of a file with stages is about, and its task sets. */
import {
  childOf,
  isNull,
  mapAround,
  merge,
  nodeAt,
  toPlain,
  withoutAll,
  type KeyPath,
  type MapNode,
  type Node,
} from '../../source/node.js';
import { nowhere } from '../../source/problem.js';

/**
 * Returns the index of the stage that the mode `bench` of the overrides evaluates: the last one
 * that is not of mode `bench`, or the last one. Returns undefined for another mode, and if the file
 * has no stages.
 */
export function evaluatedStage(
  file: MapNode,
  overrides: Readonly<Record<string, unknown>> = {},
): number | undefined {
  const list = childOf(file, 'stages');
  if (overrides['mode'] !== 'bench' || 'stages' in overrides) return undefined;
  if (list?.kind !== 'list' || list.items.length === 0) return undefined;
  const trained = list.items.findLastIndex((stage) => (modeIn(stage) ?? modeIn(file)) !== 'bench');
  return trained === -1 ? list.items.length - 1 : trained;
}

/** A stage and those after it. */
type Stages = readonly [Node, ...Node[]];

/** Replaces the stages from the index on. */
export function changeStages(
  file: MapNode,
  index: number | undefined,
  change: (stages: Stages) => Stages,
): MapNode {
  const entry = file.entries.get('stages');
  const list = entry?.node;
  if (index === undefined || entry === undefined || list?.kind !== 'list') return file;
  const [first, ...others] = list.items.slice(index);
  if (first === undefined) return file;
  const items = [...list.items.slice(0, index), ...change([first, ...others])];
  return {
    ...file,
    entries: new Map(file.entries).set('stages', { ...entry, node: { ...list, items } }),
  };
}

/**
 * Merges the sections `explorer` of the benchmarks, and then the mode and the sections of the
 * overrides, into the stage before the benchmarks.
 */
export function withOverridesInFirst([stage, ...benchmarks]: Stages, over: MapNode): Stages {
  const parts = [
    ...benchmarks.map((each) =>
      entriesOf(each, (key, node) => key === 'explorer' && node.kind === 'map'),
    ),
    entriesOf(over, (key, node) => key === 'mode' || node.kind === 'map'),
  ];
  return [parts.reduce((base, each) => merge(base, each, 'base'), stage), ...benchmarks];
}

function entriesOf(tree: Node, isKept: (key: string, node: Node) => boolean): Node {
  if (tree.kind !== 'map') return tree;
  const kept = [...tree.entries].filter(([key, { node }]) => isKept(key, node));
  return { ...tree, entries: new Map(kept) };
}

const taskKeys: KeyPath = ['buffer', 'explorer_input'];
const evalSets: KeyPath = [...taskKeys, 'eval_tasksets'];

/** Defaults of evaluation sets in `explorer_input`, in order of precedence, by the key of a set. */
const defaultsOfSets: Readonly<Record<string, readonly string[]>> = {
  default_workflow_type: ['default_eval_workflow_type', 'default_workflow_type'],
  default_reward_fn_type: ['default_reward_fn_type'],
};

/**
 * Leaves out the benchmarks after the stage, because they have no checkpoints. The stage is
 * evaluated on their sets instead of its own, unless the overrides give the sets.
 */
export function withoutBenchmarks([stage, ...benchmarks]: Stages, root: MapNode): Stages {
  const sets = benchmarks.flatMap((each) => setsOf(root, each));
  const isOverridden = nodeAt(stage, evalSets)?.at.line === nowhere.line;
  if (sets.length === 0 || isOverridden) return [stage];
  const distinct = new Map(sets.map((set) => [JSON.stringify(toPlain(set)), set]));
  const { at, path } = stage;
  const list: Node = {
    kind: 'list',
    at,
    path: [...path, ...evalSets],
    items: [...distinct.values()],
  };
  const own = Object.values(defaultsOfSets).flat();
  const rest = withoutAll(stage, [evalSets, ...own.map((key) => [...taskKeys, key])]);
  return [merge(rest, mapAround(evalSets, list, stage), 'base')];
}

/** The evaluation sets of a benchmark, with its defaults where they differ from the top level's. */
function setsOf(root: MapNode, benchmark: Node): readonly Node[] {
  const sets = nodeAt(benchmark, evalSets) ?? nodeAt(root, evalSets);
  if (sets?.kind !== 'list') return [];
  const inOrder = (keys: readonly string[], trees: readonly Node[]): Node | undefined =>
    keys
      .map((key) => trees.map((tree) => nodeAt(tree, [...taskKeys, key])).find(isSome))
      .find(isSome);
  const defaults = Object.entries(defaultsOfSets).flatMap(([key, keys]) => {
    const node = inOrder(keys, [benchmark, root]);
    return node === undefined || node === inOrder(keys, [root])
      ? []
      : [[key, { keyAt: node.at, node }] as const];
  });
  return sets.items.map((set) =>
    set.kind === 'map' ? { ...set, entries: new Map([...defaults, ...set.entries]) } : set,
  );
}

const isSome = (node: Node | undefined): node is Node => node !== undefined && !isNull(node);

function modeIn(tree: Node): unknown {
  const mode = nodeAt(tree, ['mode']);
  return mode?.kind === 'scalar' ? mode.value : undefined;
}
