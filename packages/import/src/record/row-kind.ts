/** Kinds of training rows, which are the values of the option `--as`. */
export const rowKinds = ['sft', 'dpo', 'tasks'] as const;

export type RowKind = (typeof rowKinds)[number];
