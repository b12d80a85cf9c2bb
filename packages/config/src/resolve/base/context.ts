/**
 * Input for resolving a stage: values, their positions in the file, and functions that report
 * problems.
 */
import { isDefault } from '../../check/status.js';
import type { EngineFactsTable } from '../../schema/engines.js';
import type { RunInput, RunSchema } from '../../schema/root.js';
import type { AlgorithmTables } from '@trinity-rft/algorithm';
import {
  isNull,
  nodeAt,
  placeOf,
  showPath,
  type KeyPath,
  type MapNode,
  type Node,
} from '../../source/node.js';
import type { LocatedProblem } from '../../source/problem.js';
import type { Disk } from './disk.js';
import type { NameTables } from './names.js';
import type { LoopPart, Mode } from './resolved.js';
import type { StageTree } from './stages.js';

export interface StageContext extends StageTree, NameTables {
  /** Values of the stage, parsed with the schema; defaults are filled in. */
  readonly input: RunInput;
  readonly mode: Mode;
  /**
   * Part of mode `both` that this process executes; undefined if it executes the whole mode, or
   * another mode.
   */
  readonly part: LoopPart | undefined;
  /** The schema of each section. */
  readonly sections: RunSchema['shape'];
  readonly tables: AlgorithmTables;
  readonly engines: EngineFactsTable;
  readonly disk: Disk;
  /** Returns true if the file sets the key for this stage. */
  readonly isSet: (...path: KeyPath) => boolean;
  /** Returns true if the stage itself sets the key, and not only the top level. */
  readonly stageSets: (...path: KeyPath) => boolean;
  /**
   * Reports a problem at a key. `uses` lists other keys that the check has read. Reports nothing if
   * one of these keys or the key itself has already been reported as invalid, because the check has
   * then read a default.
   */
  readonly report: (path: KeyPath, message: string, uses?: readonly KeyPath[]) => void;
  readonly warn: (path: KeyPath, message: string) => void;
  /**
   * Warns that a key has no effect in this stage. If the key is set only at the top level, warns
   * once, and only if it has no effect in any stage.
   */
  readonly ignore: (path: KeyPath, reason: string) => void;
  /** Adds problems that already have a position, and counts their keys as reported. */
  readonly add: (problems: readonly LocatedProblem[]) => void;
}

export interface Findings {
  readonly problems: LocatedProblem[];
  readonly warnings: LocatedProblem[];
  /**
   * Warnings about keys that a stage inherits from the top level and that have no effect in it,
   * with the index of the stage.
   */
  readonly inherited: (readonly [stage: number, warning: LocatedProblem])[];
  /** Paths that have no value because of an earlier problem. */
  readonly failed: readonly KeyPath[];
}

/** Input that is the same for all stages. */
export interface StageSurroundings extends NameTables {
  readonly disk: Disk;
  readonly tables: AlgorithmTables;
  readonly engines: EngineFactsTable;
  readonly schema: RunSchema;
  readonly findings: Findings;
}

export function stageContext(
  stage: StageTree,
  input: RunInput,
  { disk, tables, engines, schema, findings, ...names }: StageSurroundings,
): StageContext {
  const failed = findings.failed.map(inStage);
  const isFailed = (path: KeyPath): boolean =>
    failed.some((wrong) => startsWith(path, wrong) || startsWith(wrong, path));
  return {
    ...stage,
    input,
    // Other modes have already been reported as not supported.
    mode: (input.mode === 'colocate' ? 'both' : input.mode) as Mode,
    part: undefined,
    sections: schema.shape,
    disk,
    tables,
    engines,
    ...names,
    isSet: (...path) => isGiven(stage.tree, path),
    stageSets: (...path) => nodeAt(stage.tree, path)?.path[0] === 'stages',
    report: (path, message, uses = []) => {
      if ([path, ...uses].some(isFailed)) return;
      const place = placeOf(stage.tree, path);
      findings.problems.push({
        at: place.node === undefined ? place.keyAt : place.at,
        key: place.path,
        message,
      });
    },
    warn: (path, message) => {
      const place = placeOf(stage.tree, path);
      findings.warnings.push({ at: place.keyAt, key: place.path, message });
    },
    ignore: (path, reason) => {
      const { keyAt: at, path: key } = placeOf(stage.tree, path);
      const warning = { at, key, message: `ignored. ${reason}` };
      if (stage.stageName === undefined || isOfStage(nodeAt(stage.tree, path)))
        findings.warnings.push(warning);
      else findings.inherited.push([stage.stageIndex, warning]);
    },
    add: (problems) => {
      findings.problems.push(...problems);
      failed.push(...problems.map(({ key }) => inStage(key)));
    },
  };
}

/** Returns true if a stage sets the value, or a part of it. */
function isOfStage(node: Node | undefined): boolean {
  if (node?.path[0] === 'stages') return true;
  if (node?.kind === 'list') return node.items.some(isOfStage);
  return node?.kind === 'map' && node.entries.values().some((entry) => isOfStage(entry.node));
}

/**
 * Returns one warning for each inherited key that has no effect in any stage. `stages` is the
 * number of stages.
 */
export function ignoredByAll({ inherited }: Findings, stages: number): readonly LocatedProblem[] {
  // Overrides all have the same position, as do the keys of an anchor.
  const byPlace = Map.groupBy(
    inherited,
    ([, { at, key }]) => `${at.line}:${at.column} ${showPath(key)}`,
  );
  return [...byPlace.values()]
    .filter((group) => new Set(group.map(([stage]) => stage)).size === stages)
    .flatMap((group) => group.slice(0, 1).map(([, warning]) => warning));
}

/**
 * Warns that those keys in `names` have no effect that the file sets to a value other than the
 * default or an empty text, list or section.
 */
export function sayIgnored(
  context: StageContext,
  section: KeyPath,
  names: readonly string[],
  reason: string,
): void {
  for (const name of names)
    if (asksForSomething(context, [...section, name])) context.ignore([...section, name], reason);
}

/**
 * Converts a path in the file to a path in a stage. `stages[1].model.x` becomes `model.x`, and
 * `taskset.x` becomes `tasksets[0].x`.
 */
function inStage(path: KeyPath): KeyPath {
  const plain = path[0] === 'stages' ? path.slice(2) : path;
  const single = startsWith(plain, ['buffer', 'explorer_input', 'taskset']);
  return single ? ['buffer', 'explorer_input', 'tasksets', 0, ...plain.slice(3)] : plain;
}

function startsWith(path: KeyPath, start: KeyPath): boolean {
  return start.length <= path.length && start.every((part, index) => part === path[index]);
}

function asksForSomething({ tree, input, sections }: StageContext, path: KeyPath): boolean {
  const node = nodeAt(tree, path);
  if (node === undefined || isNull(node) || isEmpty(node)) return false;
  const [section, ...rest] = path;
  const name = section as keyof typeof sections;
  return !isDefault(sections[name], input[name], rest);
}

function isEmpty(node: Node): boolean {
  if (node.kind === 'scalar') return node.value === '';
  return node.kind === 'list' ? node.items.length === 0 : node.entries.size === 0;
}

function isGiven(tree: MapNode, path: KeyPath): boolean {
  const node = nodeAt(tree, path);
  return node !== undefined && !isNull(node);
}
