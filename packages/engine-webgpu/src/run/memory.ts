/** Buffers of a device. Freed ones are used again: commands run in order, so a new user comes after the old one. */
import type { DeviceMemory } from '../device/memory.js';

export class Memory {
  readonly #device: DeviceMemory;
  readonly #free = new Map<number, GPUBuffer[]>();

  constructor(device: DeviceMemory) {
    this.#device = device;
  }

  /**
   * A buffer of at least this size, with any content.
   * @throws EngineError if it exceeds a limit or the budget, or the driver has no memory left
   */
  take(bytes: number): GPUBuffer {
    const size = sizeClass(bytes);
    const free = this.#free.get(size)?.pop();
    if (free) return free;
    const { largest } = this.#device;
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    return this.#device.create(
      bytes > largest ? bytes : Math.min(size, largest),
      usage,
      'an array',
    );
  }

  /** Returns a buffer, after the last command with it was queued. */
  give(buffer: GPUBuffer): void {
    const size = sizeClass(buffer.size);
    const free = this.#free.get(size) ?? [];
    this.#free.set(size, free);
    free.push(buffer);
  }

  /** Destroys the free buffers. Nothing with them may be waiting to be submitted. */
  trim(): void {
    for (const buffers of this.#free.values())
      for (const buffer of buffers) this.#device.destroy(buffer);
    this.#free.clear();
  }
}

/** The next of eight sizes between two powers of two, at least 256 bytes. */
function sizeClass(bytes: number): number {
  if (bytes <= 256) return 256;
  const step = 2 ** (Math.floor(Math.log2(bytes)) - 3);
  return Math.ceil(bytes / step) * step;
}
