/**
 * Limits the total size of a device's buffers to a budget. Without a budget, drivers grant more
 * memory than exists, and the device is lost later.
 */
import { machineMemory } from '@trinity-rft/core/support';
import type { AdapterLimits } from './adapters.js';
import { aboveBudget, aboveLimit } from './errors.js';
import type { Faults } from './faults.js';

/**
 * Returns the default memory budget in bytes: four fifths of the estimated memory, so that a fifth
 * is left for the desktop and other programs. WebGPU does not report a GPU's memory size, but
 * drivers allow buffers of up to about a quarter of it. The estimate is at most the machine's
 * memory, which integrated GPUs share.
 */
export function defaultBudget({ maxBufferSize }: AdapterLimits): number {
  return Math.floor(0.8 * Math.min(4 * maxBufferSize, machineMemory()));
}

/** The methods of a GPU device that allocate buffers. */
export interface LimitedDevice extends Pick<GPUDevice, 'createBuffer'> {
  readonly limits: Pick<AdapterLimits, 'maxBufferSize' | 'maxStorageBufferBindingSize'>;
}

export class DeviceMemory {
  readonly budget: number;
  readonly #device: LimitedDevice;
  readonly #faults: Pick<Faults, 'check'>;
  #used = 0;

  constructor(device: LimitedDevice, faults: Pick<Faults, 'check'>, budget: number) {
    this.budget = budget;
    this.#device = device;
    this.#faults = faults;
  }

  /** Total size of the existing buffers, in bytes. */
  get used(): number {
    return this.#used;
  }

  /**
   * Maximum size of an array, in bytes. It is limited both by the buffer size and by the binding
   * size, because a kernel binds the whole buffer.
   */
  get largest(): number {
    const { maxBufferSize, maxStorageBufferBindingSize } = this.#device.limits;
    return Math.min(maxBufferSize, maxStorageBufferBindingSize);
  }

  /**
   * Creates a buffer.
   * @param what noun phrase for errors
   * @throws EngineError if the buffer exceeds a limit or the budget, or the driver is out of memory
   */
  create(bytes: number, usage: GPUBufferUsageFlags, what: string): GPUBuffer {
    if (bytes > this.largest) throw aboveLimit(what, bytes, this.largest);
    const { used, budget } = this;
    if (used + bytes > budget) throw aboveBudget(what, bytes, { used, budget });
    const buffer = this.#device.createBuffer({ size: bytes, usage, label: what });
    this.#faults.check();
    this.#used += bytes;
    return buffer;
  }

  /** Destroys a buffer that {@link create} returned. Must be called once per buffer. */
  destroy(buffer: GPUBuffer): void {
    buffer.destroy();
    this.#used -= buffer.size;
  }
}
