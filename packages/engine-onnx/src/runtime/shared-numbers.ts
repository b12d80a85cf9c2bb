/** Arrays that the threads of one engine share. */

/**
 * Minimum count for sharing: with fewer numbers, notifying another thread takes longer than the
 * work.
 */
export const leastShared = 2 ** 20;

/** An array of zeros, in shared memory if it is large. */
export function sharedNumbers(count: number): Float32Array {
  return count < leastShared
    ? new Float32Array(count)
    : new Float32Array(new SharedArrayBuffer(count * Float32Array.BYTES_PER_ELEMENT));
}

export const isShared = ({ buffer }: Float32Array): boolean => buffer instanceof SharedArrayBuffer;
