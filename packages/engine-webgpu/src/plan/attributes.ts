/** Attributes of nodes. */
import type { NodeRecord } from '@trinity-rft/engine-onnx/graph-runtime';
import { unsupportedNode } from './builder.js';

export const integerOf = ({ attributes }: NodeRecord, name: string, otherwise: number): number => {
  const value = attributes[name];
  return typeof value === 'number' ? value : otherwise;
};

export const floatOf = ({ attributes }: NodeRecord, name: string, otherwise: number): number => {
  const value = attributes[name];
  return typeof value === 'object' && 'float' in value ? value.float : otherwise;
};

/** @throws EngineError when the attribute is not a list */
export function integersOf(node: NodeRecord, name: string): readonly number[] {
  const value = node.attributes[name];
  if (Array.isArray(value)) return value as readonly number[];
  throw unsupportedNode(node, `a node without ${name}`);
}
