/**
 * A part of the algorithm: the row of its table, with the arguments of the file, of the preset, and
 * its own defaults.
 */
import type { Part, PartRef } from '@trinity-rft/algorithm';
import { ConfigError, type ArgSpec } from '@trinity-rft/core';
import { checkStructure } from '../../check/structure.js';
import type { PartConfig } from '../base/resolved.js';
import { argsSchema, fromYaml, yamlName } from '../../schema/args.js';
import { showValue } from '../../source/secrets.js';
import { nodeAt, placeOf, toPlain, type KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';

/** Where the file chooses a part. */
export interface PartPlace {
  /** Of the name. */
  readonly name: KeyPath;
  readonly args: KeyPath;
  /** What the part is called in messages: `policy loss`. */
  readonly kind: string;
}

type Table = Readonly<Record<string, Pick<Part<unknown>, 'args'>>>;

/**
 * The part that the file chooses, else that of the preset, whose arguments hold as long as its part
 * does. Undefined where there is no such row, which the schema or the status table tell. Unknown
 * and wrong arguments are reported where they stand.
 */
export function derivePart(
  context: StageContext,
  place: PartPlace,
  table: Table,
  choice: { readonly name: string; readonly preset: PartRef | undefined },
): PartConfig | undefined {
  const { name, preset } = choice;
  const row = Object.hasOwn(table, name) ? table[name] : undefined;
  if (row === undefined) return undefined;
  const defaults = preset?.name === name ? preset.args : undefined;
  const schema = argsSchema(row.args, `Arguments of the ${place.kind} ${name}.`, defaults);
  const node = nodeAt(context.tree, place.args);
  if (node?.kind !== 'map') return { name, args: fromYaml(row.args, schema.parse(undefined)) };
  const checked = checkStructure(node, schema);
  context.add(checked.problems);
  return { name, args: fromYaml(row.args, schema.parse(toPlain(checked.root))) };
}

/**
 * Arguments that contradict each other: what the part itself says of them, at the argument that it
 * names. Undefined when it has said something.
 */
export function madeOf<Made>(
  context: StageContext,
  place: PartPlace,
  spec: ArgSpec,
  make: () => Made,
): Made | undefined {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const names = Object.keys(spec);
    const node = nodeAt(context.tree, place.args);
    const named = names.filter((name) => quotes(error.message, name));
    const given = named.find((name) => node?.kind === 'map' && node.entries.has(yamlName(name)));
    const message = names.reduce(
      (text, name) => text.replaceAll(`"${name}"`, `"${yamlName(name)}"`),
      error.message,
    );
    const path = given === undefined ? place.name : [...place.args, yamlName(given)];
    const value = given === undefined ? undefined : placeOf(context.tree, path).node;
    context.report(
      path,
      `${value === undefined ? '' : `got ${showValue(toPlain(value), path)}. `}${message}`,
      [place.name],
    );
    return undefined;
  }
}

const quotes = (text: string, name: string): boolean => text.includes(`"${name}"`);
