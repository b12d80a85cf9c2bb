/** Operators that convert, repeat, read and write elements. They have no gradient. */
import { dataTypes, type DataType } from '../graph/record.js';
import type { Shape } from '../graph/dims.js';
import type { Value } from '../graph/graph.js';

/** Converts the elements to another data type. */
export function cast(a: Value, dtype: DataType): Value {
  const attributes = { to: dataTypes[dtype] };
  return a.graph.node('Cast', [a], { shape: a.shape, dtype }, { attributes });
}

/** Broadcasts `a` to `shape` along its dimensions of size 1. */
export function expand(a: Value, shape: Shape): Value {
  return a.graph.node('Expand', [a, a.graph.shapeTensor(shape)], { shape });
}

/** Returns the elements at `indices` along `axis`, in the shape of `indices`. */
export function gatherElements(a: Value, indices: Value, axis: number): Value {
  const output = { shape: indices.shape };
  return a.graph.node('GatherElements', [a, indices], output, { attributes: { axis } });
}

/** Returns `a` with `values` written to, or added to, the elements at `indices` along `axis`. */
export function scatterElements(
  a: Value,
  indices: Value,
  values: Value,
  options: { readonly axis: number; readonly reduction?: 'add' },
): Value {
  const { axis, reduction } = options;
  return a.graph.node(
    'ScatterElements',
    [a, indices, values],
    { shape: a.shape },
    { attributes: reduction ? { axis, reduction } : { axis } },
  );
}
