/** Loops over the first dimension of tensors. */
import { Graph, type Value } from '../graph/graph.js';

/**
 * Results of one iteration of a loop: the state for the next iteration, and the outputs that are
 * collected.
 */
interface Turn {
  readonly state: Value;
  readonly results: readonly Value[];
}

/**
 * Applies `step` to each entry of `items` [n, ...] along the first dimension, in order or, with
 * `reverse`, from the last to the first. Each iteration gets the state of the previous iteration.
 * Returns every result, stacked over the iterations, [n, ...]. `step` builds a separate graph and
 * must use no values except its arguments. Has no gradient.
 */
export function scan(
  first: Value,
  items: readonly Value[],
  step: (state: Value, items: readonly Value[]) => Turn,
  { reverse = false }: { readonly reverse?: boolean } = {},
): readonly Value[] {
  const { graph } = first;
  const name = `scan_${first.id}_${items.map(({ id }) => id).join('_')}`;
  const body = new Graph(name);
  const argument = ({ dtype }: Value, shape: Value['shape'], i: number): Value =>
    body.input(`${name}_in_${i}`, dtype, shape);
  const { state, results } = step(
    argument(first, first.shape, 0),
    items.map((item, i) => argument(item, item.shape.slice(1), i + 1)),
  );
  for (const [i, value] of [state, ...results].entries()) body.output(`${name}_out_${i}`, value);
  const count = items[0]!.shape[0]!;
  const direction = Number(reverse);
  const [, ...collected] = graph.nodes(
    'Scan',
    [first, ...items],
    [first, ...results].map(({ shape, dtype }, i) => ({
      shape: i === 0 ? shape : [count, ...shape],
      dtype,
    })),
    {
      attributes: {
        body: { graph: body.record() },
        num_scan_inputs: items.length,
        scan_input_directions: items.map(() => direction),
        scan_output_directions: results.map(() => direction),
      },
      allOutputs: true,
    },
  );
  return collected;
}
