/**
 * Checks names and types against the schema. Reports and removes invalid keys, then checks the
 * remaining keys.
 */
import { didYouMean, nearest } from '@trinity-rft/core/support';
import type { z } from 'zod';
import {
  choicesOf,
  coreOf,
  expectedText,
  isNullable,
  keysOf,
  kindOf,
  schemaAt,
  allKeys,
} from '../schema/introspect.js';
import { movedKeys } from '../schema/aliases.js';
import { plainUnlessSecret, showValue } from '../source/secrets.js';
import {
  isNull,
  placeOf,
  showPath,
  toPlain,
  withoutAll,
  type KeyPath,
  type MapNode,
  type Node,
} from '../source/node.js';
import type { LocatedProblem } from '../source/problem.js';

export interface CheckedTree {
  /** The given tree without the paths in `failed`. It is valid. */
  readonly root: MapNode;
  readonly problems: readonly LocatedProblem[];
  /** Paths that were removed because their values are invalid. */
  readonly failed: readonly KeyPath[];
}

/**
 * Maximum number of validation passes. Several passes are needed because removing an invalid key
 * can reveal other problems.
 */
const maxRounds = 8;

export function checkStructure(root: MapNode, schema: z.ZodType): CheckedTree {
  const problems: LocatedProblem[] = [];
  const failed: KeyPath[] = [];
  let current = dropEmpty(root, schema) as MapNode;
  for (let round = 0; round < maxRounds; round++) {
    const result = schema.safeParse(toPlain(current));
    if (result.success) break;
    const tree = current;
    const found = result.error.issues.flatMap((issue) => problemsOfIssue(issue, tree, schema));
    const paths = found.map(({ path }) => path);
    problems.push(...found.map(({ problem }) => problem));
    failed.push(...paths);
    current = withoutAll(current, paths) as MapNode;
  }
  return { root: current, problems, failed };
}

/**
 * Drops sections and lists without a value, which mean the same as unset ones. Where the schema
 * expects a string, replaces a number with its source text, because `name: 1.10` would otherwise
 * become 1.1.
 */
function dropEmpty(node: Node, schema: z.ZodType | undefined): Node {
  if (schema === undefined) return node;
  if (node.kind === 'scalar')
    return node.source !== undefined && /^text\b/.test(expectedText(schema))
      ? { ...node, value: node.source }
      : node;
  if (node.kind === 'list')
    return {
      ...node,
      items: node.items.map((item, index) => dropEmpty(item, schemaAt(coreOf(schema), [index]))),
    };
  const entries = [...node.entries].flatMap(([key, entry]) => {
    const inner = schemaAt(coreOf(schema), [key]);
    const kind = kindOf(inner);
    const empty = isNull(entry.node) && inner !== undefined;
    if (empty && (kind === 'section' || kind === 'list') && !isNullable(inner)) return [];
    return [[key, { ...entry, node: dropEmpty(entry.node, inner) }] as const];
  });
  return { ...node, entries: new Map(entries) };
}

interface FoundProblem {
  readonly problem: LocatedProblem;
  /** Path of the key to remove. */
  readonly path: KeyPath;
}

function problemsOfIssue(
  issue: z.core.$ZodIssue,
  root: MapNode,
  schema: z.ZodType,
): readonly FoundProblem[] {
  const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
  if (issue.code === 'unrecognized_keys') return unknownKeys(path, issue.keys, root, schema);
  const place = placeOf(root, path);
  if (place.node === undefined) return [missingKey(path, place, schema)];
  const { node } = place;
  const expected = schemaAt(schema, path);
  const shown = showValue(plainUnlessSecret(node), node.path);
  const message = `got ${shown}, expected ${expectedText(expected)}.${hint(node, expected)}`;
  const whole = coreOf(schemaAt(schema, path.slice(0, -1)) ?? schema).def.type === 'tuple';
  // Removes the whole tuple, because the schema would report a tuple without one item again.
  return [
    { problem: { at: place.at, key: place.path, message }, path: whole ? path.slice(0, -1) : path },
  ];
}

function missingKey(
  path: KeyPath,
  place: { readonly at: LocatedProblem['at'] },
  schema: z.ZodType,
): FoundProblem {
  const message = `is missing, expected ${expectedText(schemaAt(schema, path))}.`;
  return { problem: { at: place.at, key: path, message }, path: path.slice(0, -1) };
}

/**
 * Returns advice on how to correct a value of the wrong type, with a leading space; empty if there
 * is no advice.
 */
function hint(node: Node, schema: z.ZodType | undefined): string {
  const choices = choicesOf(schema);
  if (node.kind === 'scalar' && typeof node.value === 'string' && choices.length > 0)
    return didYouMean(node.value, choices);
  const kind = kindOf(schema);
  if (kind === 'list' && node.kind === 'map')
    return ' Put "- " before its first key to make it a list of one.';
  if (kind === 'list' && node.kind === 'scalar')
    return ' Write it as [a, b], or as lines that begin with "- ".';
  if (kind === 'section' && node.kind === 'list') return ' Remove the "- " before its keys.';
  if (kind === 'section') return ' Put its keys on lines below, indented by two spaces.';
  if (kind === 'value' && node.kind !== 'scalar') return ' Is something indented too far?';
  if (isNull(node)) return ' Give it a value, or remove the line.';
  if (
    node.kind === 'scalar' &&
    typeof node.value === 'boolean' &&
    expectedText(schema).startsWith('text')
  )
    return ' Put it in quotes if it is meant as text.';
  return '';
}

/**
 * Maximum number of unknown keys per section that are reported one by one. A single message states
 * how many more there are.
 */
const maxUnknown = 100;

function unknownKeys(
  section: KeyPath,
  keys: readonly string[],
  root: MapNode,
  schema: z.ZodType,
): readonly FoundProblem[] {
  const said = keys.slice(0, maxUnknown).map((key) => unknownKey(section, key, root, schema));
  const more = keys.slice(maxUnknown);
  const { keyAt, path } = placeOf(root, [...section, ...more.slice(0, 1)]);
  const message = `${more.length} further unknown keys of this section begin here. Remove them.`;
  return [
    ...said,
    ...more.map((key) => ({ problem: { at: keyAt, key: path, message }, path: [...section, key] })),
  ];
}

function unknownKey(section: KeyPath, key: string, root: MapNode, schema: z.ZodType): FoundProblem {
  const path = [...section, key];
  const { keyAt: at, path: shown, node } = placeOf(root, path);
  const message = `unknown key "${key}". ${fixOf(section, key, schema, node)}`;
  return { problem: { at, key: shown, message }, path };
}

/**
 * Returns advice for an unknown key: its new name, the section in which it is valid, a similar
 * name, or the list of valid keys.
 */
function fixOf(section: KeyPath, key: string, schema: z.ZodType, node: Node | undefined): string {
  const names = [...section, key].filter((part) => typeof part === 'string');
  const whole = (names[0] === 'stages' ? names.slice(1) : names).join('.');
  const moved = Object.hasOwn(movedKeys, whole) ? movedKeys[whole] : undefined;
  if (moved !== undefined) return moved;
  const known = keysOf(schemaAt(schema, section)).filter(
    (name) => name !== 'stages' || section.length === 0,
  );
  const similar = nearest(key, known);
  const elsewhere = shallowest(
    (allKeys(schema).get(key) ?? []).filter((path) => !path.startsWith('stages')),
  );
  const belongs = `It belongs to the path ${elsewhere.slice(0, 3).join(', or ')}.`;
  // An empty value can be meant as a section without keys.
  const empty =
    similar === undefined ? 'anything' : kindOf(schemaAt(schema, [...section, similar]));
  const given = node === undefined || isNull(node) ? empty : kinds[node.kind];
  if (elsewhere.length === 1 && mayTake(schema, elsewhere[0] ?? '', given)) return belongs;
  if (similar !== undefined) return `Did you mean "${similar}"?`;
  if (elsewhere.length > 0) return belongs;
  const where = section.length === 0 ? 'the top level' : showPath(section);
  return known.length <= 12
    ? `Expected one of ${known.join(', ')} in ${where}.`
    : `There is no such key in ${where}; remove it, or look for its name with "trinity config schema".`;
}

const kinds = { map: 'section', list: 'list', scalar: 'value' } as const;

/** Returns true if the key at `path` can have a value of the kind. */
function mayTake(schema: z.ZodType, path: string, given: ReturnType<typeof kindOf>): boolean {
  const kind = kindOf(schemaAt(schema, path.replaceAll('[]', '.0').split('.')));
  return kind === 'anything' || given === 'anything' || kind === given;
}

/**
 * Returns the paths with the fewest parts, because these are most likely the ones that the user
 * means.
 */
function shallowest(paths: readonly string[]): readonly string[] {
  const depth = (path: string): number => path.split('.').length;
  const least = Math.min(...paths.map(depth));
  return paths.filter((path) => depth(path) === least);
}
