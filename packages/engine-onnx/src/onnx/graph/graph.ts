/** Builds ONNX graphs. Dimensions may be symbols, so that one session accepts every batch shape. */
import { InvariantError } from '@trinity-rft/core';
import type { Dim, Shape } from './dims.js';
import type { Attribute, ConstantRecord, DataType, ModelRecord } from './record.js';
import { encodeModel } from './schema.js';

/**
 * Vector-Jacobian product. Returns the gradients of a value's inputs, in order, from the gradient
 * of the value; `undefined` for inputs without a gradient (ids, tables).
 */
export type Pullback = (gradient: Value) => readonly (Value | undefined)[];

/** One tensor of a graph. Created by {@link Graph} and the functions in `ops/`. */
export interface Value {
  readonly graph: Graph;
  /** Number in order of creation, which is a topological order. */
  readonly id: number;
  readonly dtype: DataType;
  readonly shape: Shape;
  /**
   * Inputs from which the value is computed, and the function that returns their gradients; absent
   * for inputs of the graph, constants and values without a gradient.
   */
  readonly source?: { readonly inputs: readonly Value[]; readonly pullback: Pullback };
}

export interface OutputSpec {
  readonly shape: Shape;
  /** Data type of the output. @default data type of the operator's first input */
  readonly dtype?: DataType;
}

export interface NodeOptions {
  readonly attributes?: Readonly<Record<string, Attribute>>;
  /** `com.microsoft` for contributed operators. @default "" */
  readonly domain?: string;
  /** True if the operator requires all outputs to be listed, even unused ones. */
  readonly allOutputs?: true;
}

/** Inputs of an operator; undefined for an omitted input. */
type NodeInputs = readonly (Value | undefined)[];

interface Node extends NodeOptions {
  readonly type: string;
  readonly inputs: NodeInputs;
  readonly outputs: readonly Value[];
}

type ConstantData = Float32Array | Int32Array | BigInt64Array;

/**
 * A graph under construction. Values are numbered in the order in which they are added. {@link
 * encode} omits nodes that no output needs.
 */
export class Graph {
  readonly #nodes: Node[] = [];
  readonly #inputs = new Map<string, Value>();
  readonly #outputs = new Map<string, Value>();
  readonly #constants = new Map<Value, Omit<ConstantRecord, 'name'>>();
  readonly #memo = new Map<string, Value>();
  readonly #stored = new Map<string, Value>();
  readonly #prefix: string;
  #nextId = 0;

  /**
   * Creates an empty graph.
   * @param prefix prefix of the names of values; the body of a loop must not use names of the
   * surrounding graph
   * @default no prefix
   */
  constructor(prefix = '') {
    this.#prefix = prefix;
  }

  /**
   * Adds an input, which the caller feeds.
   * @throws InvariantError when the name is taken.
   */
  input(name: string, dtype: DataType, shape: Shape): Value {
    if (this.#inputs.has(name))
      throw new InvariantError(
        `The graph already has an input "${name}"; give this one another name.`,
      );
    const value = this.#value(dtype, shape);
    this.#inputs.set(name, value);
    return value;
  }

  /**
   * Makes `value` an output of the graph under `name`. @throws InvariantError when the name is
   * taken.
   */
  output(name: string, value: Value): void {
    if (this.#outputs.has(name) || this.#inputs.has(name)) {
      throw new InvariantError(
        `The graph already has an input or output "${name}"; give this output another name.`,
      );
    }
    this.#outputs.set(name, value);
  }

  /** Adds a constant tensor. Equal constants are stored once. */
  constant(data: ConstantData, shape: readonly number[]): Value {
    const dtype =
      data instanceof Float32Array ? 'float32' : data instanceof Int32Array ? 'int32' : 'int64';
    return this.memo(`constant ${dtype} [${shape.join()}] ${data.join()}`, () => {
      const value = this.#value(dtype, shape);
      this.#constants.set(value, {
        dtype,
        shape,
        bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
      });
      return value;
    });
  }

  /**
   * Adds a named constant, such as a weight. Its bytes may be in a file next to the model.
   * @throws InvariantError when the name is taken
   */
  stored(name: string, record: Omit<ConstantRecord, 'name'>): Value {
    if (this.#stored.has(name))
      throw new InvariantError(`The graph already has a constant "${name}".`);
    const value = this.#value(record.dtype, record.shape);
    this.#stored.set(name, value);
    this.#constants.set(value, record);
    return value;
  }

  /** Adds a constant float32 scalar. [] */
  scalar(number: number): Value {
    return this.constant(Float32Array.of(number), []);
  }

  /** Adds a constant int64 vector, such as axes, a shape or bounds of an operator. [n] */
  integers(numbers: readonly number[]): Value {
    return this.constant(BigInt64Array.from(numbers, BigInt), [numbers.length]);
  }

  /**
   * Returns the size of a symbolic dimension at run time, as int64 [1]. The graph reads the size
   * from an input that has this dimension.
   */
  size(symbol: string): Value {
    return this.memo(`size ${symbol}`, () => {
      const owner = this.#inputs.values().find((value) => value.shape.includes(symbol));
      if (!owner)
        throw new InvariantError(
          `No input of the graph has the dimension "${symbol}", so its size cannot be read.`,
        );
      const shape = this.node('Shape', [owner], { shape: [owner.shape.length], dtype: 'int64' });
      return this.node('Gather', [shape, this.integers([owner.shape.indexOf(symbol)])], {
        shape: [1],
        dtype: 'int64',
      });
    });
  }

  /** Returns `shape` as an int64 tensor. [rank] */
  shapeTensor(shape: Shape): Value {
    if (shape.every((dim) => typeof dim === 'number')) return this.integers(shape);
    return this.memo(`shape ${shape.join()}`, () => {
      const parts = shape.map((dim) =>
        typeof dim === 'number' ? this.integers([dim]) : this.size(dim),
      );
      return this.node(
        'Concat',
        parts,
        { shape: [shape.length], dtype: 'int64' },
        { attributes: { axis: 0 } },
      );
    });
  }

  /**
   * Returns the value that an earlier call with the same key created, or creates it with `make`.
   */
  memo(key: string, make: () => Value): Value {
    const known = this.#memo.get(key);
    if (known) return known;
    const value = make();
    this.#memo.set(key, value);
    return value;
  }

  /** Adds an operator with one output. */
  node(type: string, inputs: NodeInputs, output: OutputSpec, options: NodeOptions = {}): Value {
    return this.nodes(type, inputs, [output], options)[0]!;
  }

  /** Adds an operator with several outputs. */
  nodes(
    type: string,
    inputs: NodeInputs,
    outputs: readonly OutputSpec[],
    options: NodeOptions = {},
  ): readonly Value[] {
    const first = inputs[0];
    const values = outputs.map((output) =>
      this.#value(output.dtype ?? first?.dtype ?? 'float32', output.shape),
    );
    this.#nodes.push({ type, inputs, outputs: values, ...options });
    return values;
  }

  /**
   * Encodes the graph as an ONNX model. Omits nodes and constants that no output depends on; keeps
   * all inputs.
   */
  encode(): Uint8Array {
    return Buffer.concat(this.encodeParts());
  }

  /**
   * Encodes as {@link encode} does, but returns parts to be written one after another. The bytes of
   * constants are not copied.
   */
  encodeParts(): readonly Uint8Array[] {
    return encodeModel(this.record());
  }

  /**
   * Returns the content that {@link encode} writes, as plain data. The body of a loop is passed to
   * the loop's node in this form.
   */
  record(): ModelRecord {
    const outputs = new Map<string, Value>();
    const names = new Map<Value, string>();
    for (const [name, value] of [...this.#inputs, ...this.#stored]) names.set(value, name);
    for (const [name, value] of this.#outputs) {
      // A value can have only one name. Inputs, and values that are output twice, are output as a
      // copy.
      const own = names.has(value) ? this.node('Identity', [value], { shape: value.shape }) : value;
      names.set(own, name);
      outputs.set(name, own);
    }
    const nameOf = (value: Value | undefined): string =>
      value === undefined ? '' : (names.get(value) ?? `${this.#prefix}_${value.id}`);
    const live = this.#live([...outputs.values()]);
    const used = new Set(live.flatMap((node) => node.inputs));
    const port = (name: string, value: Value) => ({ name, dtype: value.dtype, shape: value.shape });
    return {
      nodes: live.map((node, i) => ({
        type: node.type,
        domain: node.domain ?? '',
        name: `${node.type}_${i}`,
        inputs: node.inputs.map(nameOf),
        outputs: trimmed(
          node.outputs,
          (value) => node.allOutputs || used.has(value) || names.has(value),
        ).map(nameOf),
        attributes: node.attributes ?? {},
      })),
      constants: [...this.#constants]
        .filter(([value]) => used.has(value))
        .map(([value, record]) => ({ name: nameOf(value), ...record })),
      inputs: [...this.#inputs].map(([name, value]) => port(name, value)),
      outputs: [...outputs].map(([name, value]) => port(name, value)),
    };
  }

  #value(dtype: DataType, shape: Shape): Value {
    return { graph: this, id: this.#nextId++, dtype, shape };
  }

  #live(outputs: readonly Value[]): readonly Node[] {
    const producers = new Map(
      this.#nodes.flatMap((node) => node.outputs.map((output) => [output, node] as const)),
    );
    const live = new Set<Node>();
    const open = [...outputs];
    for (let value = open.pop(); value; value = open.pop()) {
      const node = producers.get(value);
      if (!node || live.has(node)) continue;
      live.add(node);
      open.push(...node.inputs.filter((input) => input !== undefined));
    }
    return this.#nodes.filter((node) => live.has(node));
  }
}

/** Attaches a gradient rule to a new value. */
export function withPullback(value: Value, inputs: readonly Value[], pullback: Pullback): Value {
  return Object.assign(value, { source: { inputs, pullback } });
}

/**
 * Returns the dimension at an index, which counts from the end if negative.
 * @throws InvariantError when there is no dimension at the index.
 */
export function dimAt(value: Value, index: number): Dim {
  const dim = value.shape.at(index);
  if (dim === undefined)
    throw new InvariantError(
      `A value of shape [${value.shape.join(', ')}] has no dimension ${index}.`,
    );
  return dim;
}

function trimmed<T>(items: readonly T[], keep: (item: T) => boolean | undefined): readonly T[] {
  return items.slice(0, Math.max(1, items.findLastIndex(keep) + 1));
}
