/** Arrays that the threads of one engine share. */

/**
 * Minimum count of numbers for sharing. With fewer numbers, notifying another thread takes longer
 * than the work.
 */
export const leastShared = 2 ** 20;

/** Returns an array of zeros, in shared memory if it has at least {@link leastShared} numbers. */
export function sharedNumbers(count: number): Float32Array {
  return count < leastShared
    ? new Float32Array(count)
    : new Float32Array(new SharedArrayBuffer(count * Float32Array.BYTES_PER_ELEMENT));
}

export const isShared = ({ buffer }: Float32Array): boolean => buffer instanceof SharedArrayBuffer;
