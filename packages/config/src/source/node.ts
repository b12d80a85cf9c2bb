/** A configuration file as a tree in which every value has its position. */
import type { SourcePosition } from './problem.js';

/** Keys and list indices from the root of the file. */
export type KeyPath = readonly (string | number)[];

export type Scalar = string | number | boolean | null;

interface NodeBase {
  readonly at: SourcePosition;
  /** Path in the file, which does not change when a stage is merged with the top level. */
  readonly path: KeyPath;
}

export interface ScalarNode extends NodeBase {
  readonly kind: 'scalar';
  readonly value: Scalar;
  /**
   * True if the value comes from a key or variable with the name of a secret. Never show such a
   * value.
   */
  readonly secret?: boolean;
  /** Text of a number in the file, such as `1.10`. */
  readonly source?: string;
}

interface ListNode extends NodeBase {
  readonly kind: 'list';
  readonly items: readonly Node[];
}

export interface Entry {
  readonly keyAt: SourcePosition;
  readonly node: Node;
}

export interface MapNode extends NodeBase {
  readonly kind: 'map';
  readonly entries: ReadonlyMap<string, Entry>;
}

export type Node = ScalarNode | ListNode | MapNode;

/** Returns a path as text, such as `buffer.explorer_input.tasksets[0].path`. */
export function showPath(path: KeyPath): string {
  let shown = '';
  for (const part of path)
    shown += typeof part === 'number' ? `[${part}]` : shown === '' ? part : `.${part}`;
  return shown;
}

/** Returns the value of a node as plain data, without positions. */
export function toPlain(node: Node): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(toPlain);
  return Object.fromEntries([...node.entries].map(([key, entry]) => [key, toPlain(entry.node)]));
}

export type TextNode = ScalarNode & { readonly value: string };

export const isText = (node: Node): node is TextNode =>
  node.kind === 'scalar' && typeof node.value === 'string';

export const isNull = (node: Node): boolean => node.kind === 'scalar' && node.value === null;

/** Returns the nodes of all strings at keys in `keys`, anywhere in the tree. */
export function textsUnder(node: Node, keys: ReadonlySet<string>): readonly TextNode[] {
  if (node.kind === 'list') return node.items.flatMap((item) => textsUnder(item, keys));
  if (node.kind === 'scalar') return [];
  return [...node.entries].flatMap(([key, { node: child }]) =>
    keys.has(key) && isText(child) ? [child] : textsUnder(child, keys),
  );
}

/** Returns the child at a key or index, or undefined if there is none. */
export function childOf(node: Node, part: string | number): Node | undefined {
  if (node.kind === 'map') return node.entries.get(String(part))?.node;
  if (node.kind === 'list') return node.items[Number(part)];
  return undefined;
}

/** Returns the node at a path, or undefined if the file has no value there. */
export function nodeAt(root: Node, path: KeyPath): Node | undefined {
  let node: Node | undefined = root;
  for (const part of path) node = node === undefined ? undefined : childOf(node, part);
  return node;
}

/** Position of a path. If the path does not exist, the position of the nearest node above it. */
export interface Place {
  /** Position of the value. */
  readonly at: SourcePosition;
  /** Position of the key, or of the value if there is no key. */
  readonly keyAt: SourcePosition;
  /** The path in the file. */
  readonly path: KeyPath;
  readonly node: Node | undefined;
}

/**
 * Returns the position and the node of a path in the tree of the file, or of a stage merged with
 * the top level.
 */
export function placeOf(root: Node, path: KeyPath): Place {
  let node: Node = root;
  let keyAt = root.at;
  for (const [depth, part] of path.entries()) {
    const child: Node | undefined = childOf(node, part);
    if (child === undefined)
      return { at: keyAt, keyAt, path: [...node.path, ...path.slice(depth)], node: undefined };
    keyAt = (node.kind === 'map' ? node.entries.get(String(part))?.keyAt : undefined) ?? child.at;
    node = child;
  }
  return { at: node.at, keyAt, path: node.path, node };
}

/** Calls `see` once for every node. */
export function visit(node: Node, see: (node: Node) => void): void {
  see(node);
  if (node.kind === 'list') for (const item of node.items) visit(item, see);
  if (node.kind === 'map') for (const entry of node.entries.values()) visit(entry.node, see);
}

/** Returns the tree without the node at `path`. */
export const without = (root: Node, path: KeyPath): Node => withoutAll(root, [path]);

/** Returns the tree without the nodes at `paths`. Works in one pass. */
export function withoutAll(root: Node, paths: readonly KeyPath[]): Node {
  if (root.kind === 'scalar' || paths.length === 0) return root;
  const inner = new Map<string, KeyPath[]>();
  for (const [part, ...rest] of paths) {
    if (part === undefined) continue;
    const key = String(part);
    const below = inner.get(key);
    if (below === undefined) inner.set(key, [rest]);
    else below.push(rest);
  }
  /**
   * Returns the node without its descendants at `paths`, or undefined if the node itself is
   * removed.
   */
  const rest = (key: string, node: Node): Node | undefined => {
    const below = inner.get(key) ?? [];
    return below.some(({ length }) => length === 0) ? undefined : withoutAll(node, below);
  };
  if (root.kind === 'list')
    return { ...root, items: root.items.flatMap((item, index) => rest(`${index}`, item) ?? []) };
  const entries = [...root.entries].flatMap(([key, entry]) => {
    const node = rest(key, entry.node);
    return node === undefined ? [] : [[key, { ...entry, node }] as const];
  });
  return { ...root, entries: new Map(entries) };
}

/**
 * Merges `over` into `base`. Merges maps key by key, and replaces other values. A merged map has
 * the position of the map in `base` or in `over`, as `keep` says.
 */
export function merge(base: Node, over: Node, keep: 'base' | 'over' = 'over'): Node {
  if (base.kind !== 'map' || over.kind !== 'map') return over;
  const entries = new Map(base.entries);
  for (const [key, entry] of over.entries) {
    const old = entries.get(key);
    const node = old === undefined ? entry.node : merge(old.node, entry.node, keep);
    const stays = keep === 'base' && old?.node.kind === 'map' && node.kind === 'map';
    entries.set(key, { keyAt: stays ? old.keyAt : entry.keyAt, node });
  }
  return { ...base, at: keep === 'base' ? base.at : over.at, entries };
}

/** Wraps a node in the sections that `path` names, so that `['a', 'b']` gives `{a: {b: node}}`. */
export const mapAround = (path: KeyPath, node: Node, { at, path: root }: Node): Node =>
  path.reduceRight<Node>(
    (inner, name) => ({
      kind: 'map',
      at,
      path: root,
      entries: new Map([[String(name), { keyAt: inner.at, node: inner }]]),
    }),
    node,
  );

/**
 * Copies a subtree to another path. All copied values get the position `at`. If `secret` is true,
 * none of the copied values is shown.
 */
export function transplant(node: Node, path: KeyPath, at: SourcePosition, secret: boolean): Node {
  if (node.kind === 'scalar') return { ...node, path, at, secret: secret || node.secret };
  if (node.kind === 'list')
    return {
      ...node,
      path,
      at,
      items: node.items.map((item, index) => transplant(item, [...path, index], at, secret)),
    };
  const entries = new Map(
    [...node.entries].map(([key, entry]) => [
      key,
      { keyAt: at, node: transplant(entry.node, [...path, key], at, secret) },
    ]),
  );
  return { ...node, path, at, entries };
}

/** Converts plain data to a tree whose values all have the position `at`. */
export function fromPlain(value: unknown, path: KeyPath, at: SourcePosition): Node {
  if (Array.isArray(value))
    return {
      kind: 'list',
      path,
      at,
      items: value.map((item, index) => fromPlain(item, [...path, index], at)),
    };
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(
      ([key, item]) => [key, { keyAt: at, node: fromPlain(item, [...path, key], at) }] as const,
    );
    return { kind: 'map', path, at, entries: new Map(entries) };
  }
  return { kind: 'scalar', path, at, value: (value ?? null) as Scalar };
}
