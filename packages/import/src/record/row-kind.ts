/** Kinds of rows: the values of `--as`. */
export const rowKinds = ['sft', 'dpo', 'tasks'] as const;

export type RowKind = (typeof rowKinds)[number];
