/** Runs graphs on ONNX Runtime and compares their gradients with central differences. */
import { Tensor } from 'onnxruntime-node';
import { type Random, createRandom } from '@trinity-rft/core';
import { gradients } from '../../src/onnx/autodiff.js';
import { Graph, type Value } from '../../src/onnx/graph/graph.js';
import { createSession } from '../../src/runtime/session.js';

export type Numbers = Float32Array | Int32Array;

export interface Argument {
  readonly shape: readonly number[];
  /** Dimensions as the graph sees them. @default shape */
  readonly dims?: readonly (number | string)[];
  /** Constant data has no gradient. */
  readonly data?: Int32Array;
  /** Number that is added to the standard normal numbers. @default 0 */
  readonly shift?: number;
}

export const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

export function normals(random: Random, size: number, shift = 0): Float32Array {
  return Float32Array.from({ length: size }, () => random.normal() + shift);
}

export function tensor(data: Numbers, shape: readonly number[]): Tensor {
  return data instanceof Float32Array
    ? new Tensor('float32', data, shape)
    : new Tensor('int32', data, shape);
}

/**
 * Largest difference between a gradient by autodiff and by central differences, over `probes`
 * random entries of every float argument, divided by the largest gradient entry (at least 0.1). The
 * scalar is a random linear functional of the result.
 */
export async function gradientError(
  seed: number,
  args: Readonly<Record<string, Argument>>,
  build: (values: Readonly<Record<string, Value>>, graph: Graph) => Value,
  probes = 4,
): Promise<number> {
  const random = createRandom(seed);
  const graph = new Graph();
  const values = Object.fromEntries(
    Object.entries(args).map(([name, arg]) => [
      name,
      graph.input(name, arg.data ? 'int32' : 'float32', arg.dims ?? arg.shape),
    ]),
  );
  const data = Object.fromEntries(
    Object.entries(args).map(([name, arg]) => [
      name,
      arg.data ?? normals(random, sizeOf(arg.shape), arg.shift),
    ]),
  );
  const y = build(values, graph);
  const g = graph.input('g', 'float32', y.shape);
  const floats = Object.keys(args).filter((name) => !args[name]!.data);
  graph.output('y', y);
  gradients(
    [{ value: y, gradient: g }],
    floats.map((name) => values[name]!),
  ).forEach((grad, i) => graph.output(`grad.${floats[i]}`, grad));
  const session = await createSession(graph.record(), { threads: 1, kind: 'train' });

  const feeds = (weights: Tensor) => ({
    ...Object.fromEntries(
      Object.entries(args).map(([name, arg]) => [name, tensor(data[name]!, arg.shape)]),
    ),
    g: weights,
  });
  const shape = concreteShape(y, args);
  const weights = tensor(normals(random, sizeOf(shape)), shape);
  const scalar = async () => {
    const out = (await session.run(feeds(weights), ['y']))['y']!.data as Float32Array;
    return out.reduce((sum, value, i) => sum + value * (weights.data as Float32Array)[i]!, 0);
  };
  const found = await session.run(feeds(weights));
  let worst = 0;
  for (const name of floats) {
    const gradient = found[`grad.${name}`]!.data as Float32Array;
    const scale = gradient.reduce((max, x) => Math.max(max, Math.abs(x)), 0.1);
    for (let probe = 0; probe < probes; probe++) {
      const index = random.integer(gradient.length);
      worst = Math.max(
        worst,
        Math.abs(gradient[index]! - (await difference(data[name] as Float32Array, index, scalar))) /
          scale,
      );
    }
  }
  await session.release();
  return worst;
}

/** (f(x + h) - f(x - h)) / 2h with the steps that float32 really makes. */
export async function difference(
  x: Float32Array,
  index: number,
  f: () => Promise<number>,
  step = 1e-2,
): Promise<number> {
  const old = x[index]!;
  x[index] = old + step;
  const above = x[index]!;
  const high = await f();
  x[index] = old - step;
  const below = x[index]!;
  const low = await f();
  x[index] = old;
  return (high - low) / (above - below);
}

/**
 * Entries of a model's gradient that differ from central differences of `scalar` by more than 1e-2 of the largest
 * entry of their tensor (at least 0.1); three random entries of every tensor are checked.
 */
export async function modelGradientErrors(
  specs: readonly { readonly name: string; readonly offset: number; readonly size: number }[],
  weights: Float32Array,
  gradient: Float32Array,
  scalar: () => Promise<number>,
): Promise<readonly unknown[]> {
  const random = createRandom(5);
  const wrong = [];
  for (const { name, offset, size } of specs) {
    const part = gradient.subarray(offset, offset + size);
    const scale = part.reduce((max, x) => Math.max(max, Math.abs(x)), 0.1);
    for (let probe = 0; probe < 3; probe++) {
      const index = random.integer(size);
      const expected = await difference(weights, offset + index, scalar, 4e-3);
      if (!(Math.abs(part[index]! - expected) / scale < 1e-2))
        wrong.push({ name, index, found: part[index], expected });
    }
  }
  return wrong;
}

function concreteShape(y: Value, args: Readonly<Record<string, Argument>>): readonly number[] {
  const sizes = new Map<string, number>();
  for (const arg of Object.values(args))
    arg.dims?.forEach((dim, i) => typeof dim === 'string' && sizes.set(dim, arg.shape[i]!));
  return y.shape.map((dim) => (typeof dim === 'number' ? dim : sizes.get(dim)!));
}
