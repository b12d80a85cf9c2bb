/**
 * Reads little-endian numbers and strings from the start of a file, through a buffer that holds a
 * part of the file.
 */
import { readSync } from 'node:fs';

import { broken } from './failure.js';

const windowBytes = 1 << 20;
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

export class Cursor {
  readonly #path: string;
  readonly #file: number;
  readonly #size: number;
  #window: Buffer = Buffer.alloc(0);
  /** Position in the file of the first byte in the buffer. */
  #start = 0;
  /** Number of bytes read so far. */
  position = 0;

  constructor(path: string, file: number, size: number) {
    this.#path = path;
    this.#file = file;
    this.#size = size;
  }

  get path(): string {
    return this.#path;
  }

  /** Returns the first 32 bytes of the file, or all if there are fewer. */
  get start(): Buffer {
    return readFully(this.#path, this.#file, 0, Buffer.alloc(Math.min(32, this.#size)));
  }

  /**
   * Checks that `count` items of `bytes` bytes each fit into the rest of the file.
   * @throws CheckpointError if they do not fit
   */
  assertRoom(count: number, bytes: number): void {
    if (count * bytes > this.#size - this.position)
      throw broken(this.#path, `it ends before byte ${this.position + count * bytes}`);
  }

  u8(): number {
    return this.#take(1).readUInt8();
  }

  u32(): number {
    return this.#take(4).readUInt32LE();
  }

  u64(): number {
    return Number(this.#take(8).readBigUInt64LE());
  }

  f32(): number {
    return this.#take(4).readFloatLE();
  }

  /** Reads a number that takes `bytes` bytes, with the function `read`. */
  number(bytes: number, read: (buffer: Buffer) => number | bigint): number {
    return Number(read(this.#take(bytes)));
  }

  string(): string {
    return utf8.decode(this.#take(this.u64()));
  }

  /** Returns the next `bytes` bytes. The result is valid until the next call. */
  #take(bytes: number): Buffer {
    this.assertRoom(1, bytes);
    if (this.position + bytes > this.#start + this.#window.length) this.#refill(bytes);
    const from = this.position - this.#start;
    this.position += bytes;
    return this.#window.subarray(from, from + bytes);
  }

  #refill(least: number): void {
    const length = Math.min(Math.max(least, windowBytes), this.#size - this.position);
    this.#window = readFully(this.#path, this.#file, this.position, Buffer.alloc(length));
    this.#start = this.position;
  }
}

/**
 * Fills `into` from the file.
 * @throws CheckpointError when the file is too short
 */
export function readFully(path: string, file: number, position: number, into: Buffer): Buffer {
  for (let done = 0; done < into.length;) {
    const count = readSync(file, into, done, into.length - done, position + done);
    if (count === 0) throw broken(path, `it ends after ${position + done} bytes`);
    done += count;
  }
  return into;
}
