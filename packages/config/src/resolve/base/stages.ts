/** Merges each stage with the top level. */
import { partKeys } from '../../schema/algorithm.js';
import {
  childOf,
  isNull,
  merge,
  nodeAt,
  without,
  type KeyPath,
  type MapNode,
  type Node,
} from '../../source/node.js';
import type { StageConfig } from './resolved.js';

export interface StageTree {
  /** Name of the stage; undefined for the only stage of a file without stages. */
  readonly stageName: string | undefined;
  readonly stageIndex: number;
  /** Item of the stage in `stages`; undefined if the file has no stages. */
  readonly item: Node | undefined;
  /** The merged configuration of the stage, as if the file had no stages. */
  readonly tree: MapNode;
}

/**
 * Resolves the stages in order.
 * @param work resolves a stage. `previous` is the last stage before it that trains
 */
export function mapStages<T>(
  [first, ...rest]: readonly [T, ...T[]],
  work: (stage: T, previous: StageConfig | undefined) => StageConfig,
): readonly [StageConfig, ...StageConfig[]] {
  const mapped: [StageConfig, ...StageConfig[]] = [work(first, undefined)];
  for (const stage of rest) mapped.push(work(stage, lastTrained(mapped)));
  return mapped;
}

/** Returns the last stage that trains: a benchmark has no checkpoints. */
export const lastTrained = (stages: readonly StageConfig[]): StageConfig | undefined =>
  stages.findLast(({ mode }) => mode !== 'bench');

/**
 * Merges each stage with the top level. Merges sections key by key, and replaces lists. A stage
 * that changes `algorithm_type` does not inherit the functions, loss aggregation and experience
 * buffer of the top level. A stage that changes a function does not inherit the arguments of the
 * function. A stage that changes the storage type does not inherit the experience buffer.
 */
export function stageTrees(file: MapNode): readonly [StageTree, ...StageTree[]] {
  const stages = childOf(file, 'stages');
  const base = without(file, ['stages']) as MapNode;
  if (stages?.kind !== 'list' || stages.items.length === 0)
    return [{ stageName: undefined, stageIndex: 0, item: undefined, tree: base }];
  const trees = stages.items.map((item, stageIndex): StageTree => {
    const over = withoutNulls(without(item, ['stage_name']));
    const merged = merge(inheritable(base, over), over);
    return {
      stageName: textAt(item, ['stage_name']) ?? `stage_${stageIndex}`,
      stageIndex,
      item,
      tree: merged.kind === 'map' ? merged : base,
    };
  });
  return trees as [StageTree, ...StageTree[]];
}

/** Removes the null sections and top-level keys of a stage, so that the stage inherits them. */
function withoutNulls(stage: Node): Node {
  if (stage.kind !== 'map') return stage;
  return {
    ...stage,
    entries: new Map([...stage.entries].filter(([, entry]) => !isNull(entry.node))),
  };
}

function inheritable(base: Node, over: Node): Node {
  let result = base;
  if (changes(base, over, ['algorithm', 'algorithm_type'])) {
    for (const part of partKeys)
      result = without(without(result, ['algorithm', part]), ['algorithm', `${part}_args`]);
    for (const key of ['loss_agg_mode', 'loss_agg_norm'])
      result = without(result, ['algorithm', key]);
    result = without(result, ['buffer', 'trainer_input', 'experience_buffer']);
  }
  for (const part of partKeys) {
    if (changes(base, over, ['algorithm', part]))
      result = without(result, ['algorithm', `${part}_args`]);
  }
  if (changes(base, over, ['buffer', 'trainer_input', 'experience_buffer', 'storage_type']))
    result = without(result, ['buffer', 'trainer_input', 'experience_buffer']);
  return result;
}

/**
 * Returns true if `base` and `over` set the key to values that differ in more than the case of
 * letters.
 */
function changes(base: Node, over: Node, path: KeyPath): boolean {
  const [before, after] = [textAt(base, path), textAt(over, path)];
  return (
    before !== undefined && after !== undefined && before.toLowerCase() !== after.toLowerCase()
  );
}

function textAt(root: Node, path: KeyPath): string | undefined {
  const node = nodeAt(root, path);
  return node?.kind === 'scalar' && node.value !== null ? String(node.value) : undefined;
}
