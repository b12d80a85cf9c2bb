/** One exchangeable part of an algorithm: its arguments, and how it is made from them. */
import type { ArgSpec, ArgValues, ExperienceOperator } from '@trinity-rft/core';
import { readArgs } from '@trinity-rft/core/support';

/** Documentation of a part. */
export interface PartDoc {
  /** Its meaning, in one sentence. */
  readonly summary: string;
  /**
   * In plain text, with the symbols of `docs/reference/algorithms.md`: x current, o old, f reference
   * log-probability, d = x - o, r = e^d, A advantage, m mask.
   */
  readonly formula: string;
  readonly source?: PaperRef;
}

/** Where a formula comes from. */
export interface PaperRef {
  readonly title: string;
  readonly url: string;
}

/** A row of a table of parts. */
export interface Part<Made, Context extends readonly unknown[] = []> {
  readonly doc: PartDoc;
  /** Names, defaults and ranges. */
  readonly args: ArgSpec;
  /** @throws ConfigError for unknown or wrong arguments; `owner` names the part in the message */
  make(owner: string, given: object | undefined, ...context: Context): Made;
}

export interface PartDefinition<S extends ArgSpec, Made, Context extends readonly unknown[]> {
  readonly args: S;
  readonly doc?: PartDoc;
  readonly create: (args: ArgValues<S>, ...context: Context) => Made;
}

/** Types a part by its arguments. */
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

/** A row of the table of operators. */
export type OperatorPart = Part<ExperienceOperator['apply']>;
