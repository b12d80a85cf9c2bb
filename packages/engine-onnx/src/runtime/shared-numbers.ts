/** Arrays that the threads of one engine share. */

/**
 * Minimum number of elements of an array in shared memory. With fewer elements, notifying another
 * thread takes longer than the work.
 */
export const leastShared = 2 ** 20;

/** Returns an array of zeros, in shared memory if it has at least {@link leastShared} elements. */
export function sharedNumbers(count: number): Float32Array {
  return count < leastShared
    ? new Float32Array(count)
    : new Float32Array(new SharedArrayBuffer(count * Float32Array.BYTES_PER_ELEMENT));
}

export const isShared = ({ buffer }: Float32Array): boolean => buffer instanceof SharedArrayBuffer;
