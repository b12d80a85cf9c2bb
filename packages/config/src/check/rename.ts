/** Replaces old names of keys by today's. */
import { keyAliases, type KeyAlias } from '../schema/aliases.js';
import type { Entry, MapNode, Node } from '../source/node.js';
import type { LocatedProblem } from '../source/problem.js';

export interface RenamedTree {
  readonly root: MapNode;
  readonly problems: readonly LocatedProblem[];
  /** About old names that still work. */
  readonly warnings: readonly LocatedProblem[];
}

/**
 * Applies {@link keyAliases} everywhere, in stages too, and turns a single `taskset` into
 * `tasksets`.
 */
export function renameKeys(root: MapNode): RenamedTree {
  const problems: LocatedProblem[] = [];
  const warnings: LocatedProblem[] = [];
  const renamed = renameBelow(root, [], { problems, warnings }) as MapNode;
  return { root: renamed, problems, warnings };
}

interface Found {
  readonly problems: LocatedProblem[];
  readonly warnings: LocatedProblem[];
}

/** `names`: the new names of the keys from the top to `node`, without list indices. */
function renameBelow(node: Node, names: readonly string[], found: Found): Node {
  if (node.kind === 'scalar') return node;
  if (node.kind === 'list')
    return { ...node, items: node.items.map((item) => renameBelow(item, names, found)) };
  const entries = new Map<string, Entry>();
  for (const [key, entry] of node.entries) {
    const alias = keyAliases.find(({ from, section }) => from === key && isSection(names, section));
    const name = alias?.to ?? key;
    const problem = { at: entry.keyAt, key: [...node.path, key] };
    if (name !== key && node.entries.has(name)) {
      const message = `"${key}" is another name of "${name}", which is set too. Keep one of the two.`;
      found.problems.push({ ...problem, message });
      continue;
    }
    if (alias?.deprecated === true) {
      const message = `"${key}" is an old name; it is read as "${name}".`;
      found.warnings.push({ ...problem, message });
    }
    const child = renameBelow(wrap(entry.node, alias), [...names, name], found);
    entries.set(name, { ...entry, node: child });
  }
  return singleTaskset({ ...node, entries }, names, found.problems);
}

/** `names` is the path of a section in the file, without list indices. */
function isSection(names: readonly string[], section: readonly string[]): boolean {
  const plain = names[0] === 'stages' ? names.slice(1) : names;
  return plain.length === section.length && plain.every((name, index) => name === section[index]);
}

function wrap(node: Node, alias: KeyAlias | undefined): Node {
  if (alias?.asList !== true || node.kind === 'list') return node;
  return { kind: 'list', at: node.at, path: node.path, items: [node] };
}

/** `taskset: {...}` becomes `tasksets: [{...}]`, so that stages replace one by the other. */
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
  if (single.node.kind === 'scalar' && single.node.value === null) return { ...node, entries };
  if (
    list !== undefined &&
    !(list.kind === 'list' && list.items.length === 0) &&
    !(list.kind === 'scalar' && list.value === null)
  ) {
    problems.push({
      at: single.keyAt,
      key: [...node.path, 'taskset'],
      message: 'taskset and tasksets are both set. Move the single one into the list.',
    });
    return { ...node, entries };
  }
  entries.set('tasksets', {
    keyAt: single.keyAt,
    node: {
      kind: 'list',
      at: single.node.at,
      path: [...node.path, 'taskset'],
      items: [single.node],
    },
  });
  return { ...node, entries };
}
