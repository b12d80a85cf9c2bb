/** Replaces old names of keys with the current names. */
import { isDeepStrictEqual } from 'node:util';
import {
  keyAliases,
  keysInOtherSections,
  type KeyAlias,
  type MovedKey,
} from '../schema/aliases.js';
import {
  childOf,
  isNull,
  mapAround,
  merge,
  nodeAt,
  placeOf,
  toPlain,
  without,
  type Entry,
  type MapNode,
  type Node,
} from '../source/node.js';
import type { LocatedProblem } from '../source/problem.js';

export interface RenamedTree {
  readonly root: MapNode;
  readonly problems: readonly LocatedProblem[];
  /** Warnings about deprecated names and moved keys, which are still accepted. */
  readonly warnings: readonly LocatedProblem[];
}

/**
 * Replaces old names of keys ({@link keyAliases}), moves keys to their current sections ({@link
 * keysInOtherSections}), and converts `taskset` to `tasksets`, at the top level and in stages.
 */
export function renameKeys(root: MapNode): RenamedTree {
  const problems: LocatedProblem[] = [];
  const warnings: LocatedProblem[] = [];
  const found = { problems, warnings };
  const renamed = renameBelow(root, [], found) as MapNode;
  const moved = moveKeys(renamed, found);
  const stages = childOf(moved, 'stages');
  if (stages?.kind !== 'list') return { root: moved, problems, warnings };
  const items = stages.items.map((stage) =>
    stage.kind === 'map' ? moveKeys(stage, found) : stage,
  );
  const ofStages = mapAround(['stages'], { ...stages, items }, moved);
  return { root: merge(moved, ofStages, 'base') as MapNode, problems, warnings };
}

const moveKeys = (root: MapNode, found: Found): MapNode =>
  keysInOtherSections.reduce((tree, key) => moveKey(tree, key, found), root);

function moveKey(root: MapNode, { from, to }: MovedKey, found: Found): MapNode {
  const { node, keyAt, path: key } = placeOf(root, from);
  if (node === undefined || isNull(node)) return root;
  const name = to.join('.');
  const rest = without(root, from) as MapNode;
  const place = { at: keyAt, key };
  if (nodeAt(root, to) !== undefined) {
    const message = `is read as ${name}, which is set too. Keep ${name} alone.`;
    found.problems.push({ ...place, message });
    return rest;
  }
  found.warnings.push({ ...place, message: `is read as ${name}.` });
  return merge(rest, mapAround(to, node, root), 'base') as MapNode;
}

interface Found {
  readonly problems: LocatedProblem[];
  readonly warnings: LocatedProblem[];
}

/**
 * Renames the keys below `node`. `names` is the path of `node` with the new names of keys and
 * without list indices.
 */
function renameBelow(node: Node, names: readonly string[], found: Found): Node {
  if (node.kind === 'scalar') return node;
  if (node.kind === 'list')
    return { ...node, items: node.items.map((item) => renameBelow(item, names, found)) };
  const entries = new Map<string, Entry>();
  for (const [key, entry] of node.entries) {
    const alias = keyAliases.find(({ from, section }) => from === key && isSection(names, section));
    const name = alias?.to ?? key;
    const problem = { at: entry.keyAt, key: [...node.path, key] };
    const other = name === key ? entries.get(name) : node.entries.get(name);
    const isOld = alias?.deprecated === true;
    if (isNull(entry.node) && (isOld || other !== undefined)) continue;
    const isSet = name !== key && other !== undefined && !isNull(other.node);
    const isEqual = isSet && isOld && isDeepStrictEqual(toPlain(other.node), toPlain(entry.node));
    if (isSet && !isEqual) {
      const message = `"${key}" is another name of "${name}", which is set too. Keep one of the two.`;
      found.problems.push({ ...problem, message });
      continue;
    }
    if (isOld) {
      const message = `"${key}" is an old name; it is read as "${name}".`;
      found.warnings.push({ ...problem, message });
    }
    if (isEqual) continue;
    const child = renameBelow(wrap(entry.node, alias), [...names, name], found);
    entries.set(name, { ...entry, node: child });
  }
  return singleTaskset({ ...node, entries }, names, found.problems);
}

/** Returns true if `names` is the path `section`, at the top level or in a stage. */
function isSection(names: readonly string[], section: readonly string[]): boolean {
  const plain = names[0] === 'stages' ? names.slice(1) : names;
  return plain.length === section.length && plain.every((name, index) => name === section[index]);
}

function wrap(node: Node, alias: KeyAlias | undefined): Node {
  if (alias?.asList !== true || node.kind === 'list' || isNull(node)) return node;
  return { kind: 'list', at: node.at, path: node.path, items: [node] };
}

/**
 * Converts `taskset: {...}` to `tasksets: [{...}]`, so that a stage that sets `taskset` overrides
 * `tasksets` of the top level, and vice versa.
 */
function singleTaskset(
  node: MapNode,
  names: readonly string[],
  problems: LocatedProblem[],
): MapNode {
  const single = node.entries.get('taskset');
  if (single === undefined || !isSection(names, ['buffer', 'explorer_input'])) return node;
  const entries = new Map(node.entries);
  entries.delete('taskset');
  const list = entries.get('tasksets')?.node;
  if (isNull(single.node)) return { ...node, entries };
  const isEmpty =
    list === undefined || isNull(list) || (list.kind === 'list' && list.items.length === 0);
  if (!isEmpty) {
    problems.push({
      at: single.keyAt,
      key: [...node.path, 'taskset'],
      message: 'taskset and tasksets are both set. Move the single one into the list.',
    });
    return { ...node, entries };
  }
  const items = [single.node];
  const path = [...node.path, 'taskset'];
  const only: Node = { kind: 'list', at: single.node.at, path, items };
  entries.set('tasksets', { keyAt: single.keyAt, node: only });
  return { ...node, entries };
}
