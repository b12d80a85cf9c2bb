/** Loops over the elements of a shape. Each operand has its own strides. */
import { InvariantError } from '@trinity-rft/core';

export interface Loop {
  readonly dims: readonly number[];
  /** Strides of each operand in each dimension; 0 broadcasts the operand along the dimension. */
  readonly strides: readonly (readonly number[])[];
}

/** Maximum number of dimensions that {@link collapse} may leave. */
const rankLimit = 8;

/** Returns the row-major strides of a shape. */
export function stridesOf(shape: readonly number[]): number[] {
  const strides = shape.map(() => 1);
  for (let i = shape.length - 2; i >= 0; i--) strides[i] = strides[i + 1]! * shape[i + 1]!;
  return strides;
}

export const sizeOf = (shape: readonly number[]): number =>
  shape.reduce((size, dim) => size * dim, 1);

/**
 * Drops dimensions of size 1, and merges neighbouring dimensions that every operand traverses with
 * a single stride.
 */
export function collapse({ dims, strides }: Loop): Loop & { readonly count: number } {
  const axes = dims.flatMap((dim, i) =>
    dim === 1 ? [] : [{ dim, steps: strides.map((own) => own[i]!) }],
  );
  for (let i = axes.length - 2; i >= 0; i--) {
    const [outer, inner] = [axes[i]!, axes[i + 1]!];
    if (outer.steps.every((step, k) => step === inner.steps[k]! * inner.dim))
      axes.splice(i, 2, { dim: outer.dim * inner.dim, steps: inner.steps });
  }
  if (axes.length > rankLimit)
    throw new InvariantError(
      `A kernel loops over ${axes.length} dimensions; at most ${rankLimit} are supported.`,
    );
  return {
    dims: axes.map(({ dim }) => dim),
    strides: strides.map((_, k) => axes.map(({ steps }) => steps[k]!)),
    count: sizeOf(dims),
  };
}

/**
 * Returns WGSL statements that compute, from the index `i` of a result element, the indices `x0`,
 * `x1` ... of the elements of the operands. The rank, the dimensions and the strides of each
 * operand are uniforms, starting at index `first`.
 */
export function coordinates(first: number, operands: number): string {
  const all = Array.from({ length: operands }, (_, k) => k);
  return `
  let rank = p(${first}u);
  var rest = i;
  ${all.map((k) => `var x${k} = 0u;`).join(' ')}
  for (var d = rank; d > 0u; d--) {
    let dim = p(${first}u + d);
    let c = rest % dim;
    rest = rest / dim;
    ${all.map((k) => `x${k} += c * p(${first}u + ${k + 1}u * rank + d);`).join('\n    ')}
  }`;
}
