/** Helpers that make inputs of a graph, free arrays, and return the bytes of arrays. */
import type { DeviceArray, HostArray, Numbers } from './graph-runtime.js';

export const floats = (data: Float32Array, shape: readonly number[]): HostArray => ({
  dtype: 'float32',
  shape,
  data,
});

export const ints = (data: Int32Array, shape: readonly number[]): HostArray => ({
  dtype: 'int32',
  shape,
  data,
});

export function freeAll(arrays: Readonly<Record<string, DeviceArray | undefined>>): void {
  for (const array of Object.values(arrays)) array?.free();
}

/** Returns the bytes of an array without a copy. */
export const bytesOf = ({ buffer, byteOffset, byteLength }: Numbers): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
