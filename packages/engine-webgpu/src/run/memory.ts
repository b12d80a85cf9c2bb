/**
 * Pool of a device's buffers. A freed buffer can be reused at once, because the device executes
 * commands in order, so the old use of a buffer ends before the new one begins.
 */
import type { DeviceMemory } from '../device/memory.js';

export class Memory {
  readonly #device: DeviceMemory;
  readonly #submit: () => void;
  /** Free buffers, keyed by size in bytes. */
  readonly #free = new Map<number, GPUBuffer[]>();

  /**
   * Creates an empty pool.
   * @param submit function that submits the queued commands
   */
  constructor(device: DeviceMemory, submit: () => void) {
    this.#device = device;
    this.#submit = submit;
  }

  /**
   * Returns a buffer of at least `bytes` bytes, with arbitrary content.
   * @throws EngineError if the buffer exceeds a limit or the budget, or the driver has no memory
   * left
   */
  take(bytes: number): GPUBuffer {
    const { largest, used, budget } = this.#device;
    const size = bytes > largest ? bytes : Math.min(sizeClass(bytes), largest);
    const free = this.#free.get(size)?.pop();
    if (free) return free;
    if (used + size > budget) this.#trim();
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    return this.#device.create(size, usage, 'array');
  }

  /** Returns a buffer to the pool. The last command that uses the buffer must already be queued. */
  give(buffer: GPUBuffer): void {
    const free = this.#free.get(buffer.size) ?? [];
    this.#free.set(buffer.size, free);
    free.push(buffer);
  }

  /** Destroys the free buffers, after submitting the queued commands, which may use them. */
  #trim(): void {
    this.#submit();
    for (const buffers of this.#free.values())
      for (const buffer of buffers) this.#device.destroy(buffer);
    this.#free.clear();
  }
}

/**
 * Rounds a size in bytes up to the next size class: at least 256 bytes, with eight size classes
 * between two powers of two.
 */
function sizeClass(bytes: number): number {
  if (bytes <= 256) return 256;
  const step = 2 ** (Math.floor(Math.log2(bytes)) - 3);
  return Math.ceil(bytes / step) * step;
}
