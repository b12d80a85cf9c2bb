/**
 * Exchangeable parts of an algorithm, such as losses and advantage functions. A part declares its
 * arguments and is created from them.
 */
import type { ArgSpec, ArgValues, ExperienceOperator } from '@trinity-rft/core';
import { readArgs } from '@trinity-rft/core/support';

/** Documentation of a part. */
export interface PartDoc {
  /** One sentence that says what the part does. */
  readonly summary: string;
  /**
   * Formula in plain text, with the symbols of `docs/reference/algorithms.md`: x current, o old, f
   * reference log-probability, d = x - o, r = e^d, A advantage, m mask.
   */
  readonly formula: string;
  readonly source?: PaperRef;
}

/** Source of a formula. */
export interface PaperRef {
  readonly title: string;
  readonly url: string;
}

/** An entry of a table of parts. */
export interface Part<Made, Context extends readonly unknown[] = []> {
  readonly doc: PartDoc;
  /** Names, defaults and ranges of the arguments. */
  readonly args: ArgSpec;
  /**
   * Creates the part from its arguments.
   * @throws ConfigError for unknown or wrong arguments; `owner` names the part in the message
   */
  make(owner: string, given: object | undefined, ...context: Context): Made;
}

export interface PartDefinition<S extends ArgSpec, Made, Context extends readonly unknown[]> {
  readonly args: S;
  readonly doc?: PartDoc;
  readonly create: (args: ArgValues<S>, ...context: Context) => Made;
}

/** Defines a part, typed by its arguments. */
export function definePart<S extends ArgSpec, Made, Context extends readonly unknown[]>({
  args,
  doc = noDoc,
  create,
}: PartDefinition<S, Made, Context>): Part<Made, Context> {
  return {
    args,
    doc,
    make: (owner, given, ...context) => create(readArgs(owner, args, given), ...context),
  };
}

export const noDoc: PartDoc = { summary: '', formula: '' };

/** An entry of the table of operators. */
export type OperatorPart = Part<ExperienceOperator['apply']>;
