/** Arrays that the threads of one engine work on together. */

/** With fewer numbers, telling another thread takes longer than the work. */
export const leastShared = 2 ** 20;

/** Zeros; in memory that can be shared, if they are many. */
export function sharedNumbers(count: number): Float32Array {
  return count < leastShared
    ? new Float32Array(count)
    : new Float32Array(new SharedArrayBuffer(count * Float32Array.BYTES_PER_ELEMENT));
}

export const isShared = ({ buffer }: Float32Array): boolean => buffer instanceof SharedArrayBuffer;
