/** Kinds of rows, by the name that `--as` takes. */
export const rowKinds = ['sft', 'dpo', 'tasks'] as const;

export type RowKind = (typeof rowKinds)[number];
