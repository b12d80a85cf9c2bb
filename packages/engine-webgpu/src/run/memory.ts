/** Buffers of a device. Freed ones are used again: commands run in order, so a new user comes after the old one. */
import { EngineError } from '@trinity-rft/core';

export class Memory {
  readonly #device: GPUDevice;
  readonly #free = new Map<number, GPUBuffer[]>();
  #bytes = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Bytes of all buffers, those that are free included. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * A buffer of at least this size, with any content.
   * @throws EngineError when the device has no bindings of this size
   */
  take(bytes: number): GPUBuffer {
    const size = sizeClass(bytes);
    const free = this.#free.get(size)?.pop();
    if (free) return free;
    const { maxStorageBufferBindingSize, maxBufferSize } = this.#device.limits;
    const limit = Math.min(maxStorageBufferBindingSize, maxBufferSize);
    if (bytes > limit)
      throw new EngineError(
        `An array takes ${bytes} bytes; the device allows ${limit}. Lower max_model_len or the ` +
          'batch size, or run this model on the CPU, without a device.',
        { code: 'ENGINE_DEVICE_LIMIT', details: { bytes, limit } },
      );
    this.#bytes += size;
    return this.#device.createBuffer({
      size: Math.min(size, limit),
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
    });
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
    for (const [size, buffers] of this.#free) {
      for (const buffer of buffers) buffer.destroy();
      this.#bytes -= size * buffers.length;
    }
    this.#free.clear();
  }
}

/** The next of eight sizes between two powers of two, at least 256 bytes. */
function sizeClass(bytes: number): number {
  if (bytes <= 256) return 256;
  const step = 2 ** (Math.floor(Math.log2(bytes)) - 3);
  return Math.ceil(bytes / step) * step;
}
