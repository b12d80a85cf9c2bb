/**
 * Plans the execution of a graph without a device: derives the dispatches from the graph and the
 * shapes of its inputs.
 */
import { EngineError } from '@trinity-rft/core';
import type {
  ConstantRecord,
  DataType,
  ModelRecord,
  NodeRecord,
  PortRecord,
} from '@trinity-rft/engine-onnx/graph-runtime';
import { unsupported } from '../device/errors.js';
import { stridesOf } from '../kernels/loop.js';
import {
  PlanBuilder,
  unsupportedNode,
  type ConstantData,
  type Dispatch,
  type Place,
} from './builder.js';
import { computeOperators } from './compute-operators.js';
import { copied } from './copies.js';
import { moveOperators } from './move-operators.js';
import { castTarget, shapeOperators } from './shape-operators.js';
import { assignSlots, type Span } from './slots.js';
import { Step, type Operator } from './step.js';
import { elementOf, type Value } from './value.js';

/**
 * Kind of buffer that holds a storage's data. Slots are temporary buffers of the plan, identified
 * by number.
 */
type PlannedPlace =
  | Exclude<Place, { kind: 'slot' }>
  | { readonly kind: 'slot'; readonly slot: number };

interface PlannedArray {
  readonly dtype: DataType;
  readonly shape: readonly number[];
}

export interface Plan {
  readonly dispatches: readonly Dispatch[];
  /** Location of each storage; the buffers of a dispatch are indices into this list. */
  readonly places: readonly PlannedPlace[];
  /** Size of each slot, in bytes. */
  readonly slots: readonly number[];
  readonly outputs: Readonly<Record<string, PlannedArray>>;
  readonly constants: ReadonlyMap<string, ConstantData>;
}

const operators: Readonly<Record<string, Operator>> = {
  ...shapeOperators,
  ...moveOperators,
  ...computeOperators,
};

/**
 * Checks that a graph can be planned.
 * @throws EngineError naming the operator, type or constant that is not supported
 */
export function checkGraph({ nodes, inputs, constants }: ModelRecord): void {
  for (const node of nodes) {
    if (!(node.type in operators)) throw unsupportedNode(node, `the operator ${node.type}`);
    const target = node.type === 'Cast' ? castTarget(node) : 'float32';
    if (!target || !elementOf(target)) {
      const type = target ?? JSON.stringify(node.attributes['to']);
      throw unsupportedNode(node, `numbers of type ${type}`);
    }
  }
  for (const { name, dtype } of [...inputs, ...constants])
    if (!elementOf(dtype))
      throw unsupported(`numbers of type ${dtype}, as "${name}" has them`, { name, dtype });
  for (const { name, bytes } of constants)
    if ('location' in bytes) {
      const where = `as "${name}" is in the file ${bytes.location}`;
      throw unsupported(`constants outside the graph, ${where}`, { name });
    }
}

type Shapes = Readonly<Record<string, readonly number[]>>;

/**
 * Plans a graph that {@link checkGraph} accepts.
 * @param shapes shapes of all inputs
 * @throws EngineError if the shapes do not fit the graph, or the operands of a node have no kernel
 */
export function planGraph(record: ModelRecord, shapes: Shapes): Plan {
  const builder = new PlanBuilder();
  for (const constant of record.constants) builder.name(constant.name, constantOf(constant));
  checkShapes(record.inputs, shapes);
  for (const { name, dtype } of record.inputs) builder.input(name, dtype, shapes[name]!);
  for (const node of record.nodes) addNode(builder, node);
  const outputs = record.outputs.map(({ name }) => [name, output(builder, name)] as const);
  return { ...finished(builder), outputs: Object.fromEntries(outputs) };
}

function addNode(builder: PlanBuilder, node: NodeRecord): void {
  const values = operators[node.type]!(new Step(builder, node));
  for (const [i, name] of node.outputs.entries()) {
    const value = values[i];
    if (!value) throw unsupportedNode(node, `output ${i}`);
    builder.name(name, value);
  }
}

/**
 * Makes a value an output of the graph. A temporary value becomes the output itself; an input, a
 * constant or another output is copied.
 */
function output(builder: PlanBuilder, name: string): PlannedArray {
  const value = builder.value(name);
  const { dtype, shape } = value;
  const placeOf = (own: Value) => builder.storages[builder.storageOf(own)]!;
  const own = placeOf(value);
  const target =
    own.place.kind === 'slot' ? own : placeOf(copied(builder, value, shape, stridesOf(shape)));
  target.place = { kind: 'output', name };
  return { dtype, shape };
}

/**
 * Drops dispatches whose results no output needs, and assigns slots to the temporary storages of
 * the remaining dispatches.
 */
function finished({ dispatches, storages, constants }: PlanBuilder): Omit<Plan, 'outputs'> {
  const needed = new Set(
    [...storages.keys()].filter((index) => storages[index]!.place.kind === 'output'),
  );
  const kept = dispatches
    .toReversed()
    .filter(({ buffers, kernel: { reads } }) => {
      const isNeeded = buffers.slice(reads).some((index) => needed.has(index));
      if (isNeeded) for (const index of buffers) needed.add(index);
      return isNeeded;
    })
    .toReversed();
  const spans = new Map<number, Span>();
  for (const [at, { buffers }] of kept.entries()) {
    for (const index of buffers) {
      const { place, bytes } = storages[index]!;
      if (place.kind === 'slot')
        spans.set(index, { first: spans.get(index)?.first ?? at, last: at, bytes });
    }
  }
  const { bytes: slots, of } = assignSlots([...spans.values()]);
  const slotOf = new Map([...spans.keys()].map((index, i) => [index, of[i]!]));
  const places = storages.map(({ place }, index) =>
    place.kind === 'slot' ? { kind: 'slot' as const, slot: slotOf.get(index) ?? -1 } : place,
  );
  return { dispatches: kept, places, slots, constants };
}

/**
 * Checks the shapes of all inputs.
 * @throws EngineError if an input is missing, or its shape does not fit the graph
 */
function checkShapes(inputs: readonly PortRecord[], shapes: Shapes): void {
  const symbols = new Map<string, number>();
  for (const { name, shape } of inputs) {
    const given = shapes[name];
    const fits = given?.length === shape.length && shape.every((dim, i) => bind(dim, given[i]!));
    if (!fits)
      throw new EngineError(
        `The input "${name}" has the shape [${given?.join(', ') ?? 'missing'}]; the graph expects ` +
          `[${shape.map((dim) => symbols.get(String(dim)) ?? dim).join(', ')}].`,
        { code: 'ENGINE_GRAPH', details: { name } },
      );
  }

  function bind(dim: number | string, size: number): boolean {
    if (typeof dim === 'number') return dim === size;
    const known = symbols.get(dim) ?? size;
    symbols.set(dim, known);
    return known === size;
  }
}

const storedAs = {
  float32: Float32Array,
  int64: BigInt64Array,
  bool: Uint8Array,
  int32: Int32Array,
};

function constantOf({ dtype, shape, bytes }: ConstantRecord): Value {
  const { buffer } = (bytes as Uint8Array).slice();
  const numbers = new storedAs[dtype as keyof typeof storedAs](buffer);
  return { dtype, shape, host: Array.from<number | bigint, number>(numbers, Number) };
}
