/**
 * Resolves a part of an algorithm: its entry in the table, and its arguments. Arguments come from
 * the file, otherwise from the preset, otherwise from the part's defaults.
 */
import type { Part, PartRef } from '@trinity-rft/algorithm';
import { ConfigError, type ArgSpec } from '@trinity-rft/core';
import { checkStructure } from '../../check/structure.js';
import type { PartConfig } from '../base/resolved.js';
import type { PartKey } from '../../schema/algorithm.js';
import { argsSchema, fromYaml, yamlName } from '../../schema/args.js';
import { plainUnlessSecret, showValue } from '../../source/secrets.js';
import { nodeAt, placeOf as placeInTree, toPlain, type KeyPath } from '../../source/node.js';
import { sayIgnored, type StageContext } from '../base/context.js';

/** Keys that select a part and contain its arguments. */
export interface PartPlace {
  /** The key that holds the name of the part. */
  readonly name: KeyPath;
  readonly args: KeyPath;
  /** Kind of the part in messages, such as `policy loss`. */
  readonly kind: string;
}

export const kinds: Readonly<Record<PartKey, string>> = {
  sample_strategy: 'sample strategy',
  advantage_fn: 'advantage function',
  kl_penalty_fn: 'KL penalty',
  policy_loss_fn: 'policy loss',
  kl_loss_fn: 'KL loss',
  entropy_loss_fn: 'entropy loss',
};

export const placeOf = (key: PartKey): PartPlace => ({
  name: ['algorithm', key],
  args: ['algorithm', `${key}_args`],
  kind: kinds[key],
});

type Table = Readonly<Record<string, Pick<Part<unknown>, 'args'>>>;

/**
 * Resolves the part with the chosen name. The preset's arguments apply only to the preset's own
 * part. Returns undefined if the table has no such part, which another check reports. Reports
 * unknown and invalid arguments at their keys.
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
  const unset = fromYaml(row.args, schema.parse(undefined));
  if (node?.kind !== 'map') return { name, args: unset };
  const checked = checkStructure(node, schema);
  context.add(checked.problems);
  const args = fromYaml(row.args, schema.parse(toPlain(checked.root)));
  if (checked.problems.length === 0) warnOfIdle(context, place, row.args, { args, unset });
  return { name, args };
}

/**
 * Warns of arguments that have no effect because of other arguments. `unset` contains the arguments
 * that apply if the file sets none.
 */
function warnOfIdle(
  context: StageContext,
  place: PartPlace,
  spec: ArgSpec,
  { args, unset }: Readonly<Record<'args' | 'unset', PartConfig['args']>>,
): void {
  for (const [name, { condition }] of Object.entries(spec))
    if (condition && args[name] !== unset[name] && !condition.holds(args))
      sayIgnored(
        context,
        place.args,
        [yamlName(name)],
        `It has an effect only with ${condition.text}.`,
      );
}

/**
 * Returns the result of `build`. If it throws a ConfigError, reports the error at the argument that
 * its message names, and returns undefined.
 */
export function tryBuild<Built>(
  context: StageContext,
  place: PartPlace,
  spec: ArgSpec,
  build: () => Built,
): Built | undefined {
  try {
    return build();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    reportArguments(context, place, Object.keys(spec), error.message);
    return undefined;
  }
}

/**
 * Reports a problem with arguments. In `message`, replaces the camelCase names of arguments with
 * their YAML names.
 */
function reportArguments(
  context: StageContext,
  place: PartPlace,
  names: readonly string[],
  message: string,
): void {
  const args = nodeAt(context.tree, place.args);
  const given = names.find(
    (name) =>
      message.includes(`"${name}"`) && args?.kind === 'map' && args.entries.has(yamlName(name)),
  );
  const inYaml = names.reduce(
    (text, name) => text.replaceAll(`"${name}"`, `"${yamlName(name)}"`),
    message,
  );
  const path = given === undefined ? place.name : [...place.args, yamlName(given)];
  const node = given === undefined ? undefined : placeInTree(context.tree, path).node;
  const got = node === undefined ? '' : `got ${showValue(plainUnlessSecret(node), path)}. `;
  context.report(path, `${got}${inYaml}`, [place.name]);
}
