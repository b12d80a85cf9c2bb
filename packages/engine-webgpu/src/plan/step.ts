/** A node that is being planned. */
import type { NodeRecord } from '@trinity-rft/engine-onnx/graph-runtime';
import { sizeOf } from '../kernels/loop.js';
import { unsupportedNode, type PlanBuilder } from './builder.js';
import { axisOf, type Value } from './value.js';

/** Plans the outputs of a node. */
export type Operator = (step: Step) => readonly Value[];

export class Step {
  readonly builder: PlanBuilder;
  readonly node: NodeRecord;

  constructor(builder: PlanBuilder, node: NodeRecord) {
    this.builder = builder;
    this.node = node;
  }

  /**
   * Returns an operand of the node.
   * @throws EngineError if the node omits the operand
   */
  operand(index: number): Value {
    return this.optional(index) ?? this.fail(`a node without operand ${index}`);
  }

  optional(index: number): Value | undefined {
    const name = this.node.inputs[index];
    return name ? this.builder.value(name) : undefined;
  }

  operands(): readonly Value[] {
    return this.node.inputs.map((_, i) => this.operand(i));
  }

  /**
   * Returns the elements of an operand that the plan needs, such as sizes, axes or bounds.
   * @throws EngineError if the elements are only on the device
   */
  numbers(index: number): readonly number[] {
    const { host } = this.operand(index);
    return host ?? this.fail('sizes, axes or bounds that are computed on the device');
  }

  integer(name: string, otherwise: number): number {
    const value = this.node.attributes[name];
    return typeof value === 'number' ? value : otherwise;
  }

  float(name: string, otherwise: number): number {
    const value = this.node.attributes[name];
    return typeof value === 'object' && 'float' in value ? value.float : otherwise;
  }

  /**
   * Returns an attribute that is a list of integers.
   * @throws EngineError if the attribute is not a list
   */
  integers(name: string): readonly number[] {
    const value = this.node.attributes[name];
    return Array.isArray(value)
      ? (value as readonly number[])
      : this.fail(`a node without ${name}`);
  }

  /**
   * Returns the size of the last dimension as the number of columns, and the product of the others
   * as the number of rows. For operators along the last dimension.
   * @throws EngineError if the operator works on another axis
   */
  rows(
    a: Value,
    axis = this.integer('axis', -1),
  ): { readonly rows: number; readonly width: number } {
    if (axisOf(axis, a) !== a.shape.length - 1) this.fail('an axis other than the last');
    const width = a.shape.at(-1)!;
    return { rows: width === 0 ? 0 : sizeOf(a.shape) / width, width };
  }

  /**
   * Rejects a node that has no kernel.
   * @param what noun phrase that names the unsupported feature
   * @throws EngineError always
   */
  fail(what: string): never {
    throw unsupportedNode(this.node, what);
  }
}
