/** An open GPU device, with its adapter's facts, its memory budget and its waits. */
import { findAdapter, loadDawn, type AdapterFacts } from './adapters.js';
import { notOpened } from './errors.js';
import { Faults } from './faults.js';
import { defaultBudget, DeviceMemory } from './memory.js';
import { waitForDriver, Waits, type WaitOptions } from './waits.js';

export interface DeviceOptions extends WaitOptions {
  /**
   * Maximum total size of all buffers, in bytes.
   * @default four fifths of the memory size that is estimated from the adapter's limits
   */
  readonly memoryBytes?: number;
}

export interface OpenDevice {
  readonly device: GPUDevice;
  readonly facts: AdapterFacts;
  readonly memory: DeviceMemory;
  readonly wait: Waits['wait'];
  /**
   * Throws the first error that the device has reported, if any.
   * @throws EngineError if the device has reported an error
   */
  readonly check: () => void;
  /**
   * Destroys the device, which rejects pending waits. Resolves when no wait is pending any longer.
   */
  readonly close: () => Promise<void>;
}

/**
 * Opens the GPU of this machine with the limits and features of its adapter.
 * @throws ConfigError if the package `webgpu` is missing, EngineError if there is no GPU or it
 * cannot be opened before the deadline
 */
export async function openDevice(options: DeviceOptions): Promise<OpenDevice> {
  const { adapter, facts } = await findAdapter(await loadDawn(), options);
  const device = await waitForDriver(options, () => requestDevice(adapter, facts), 'its device');
  const faults = new Faults(device);
  const waits = new Waits(faults, options);
  const memory = new DeviceMemory(
    device,
    faults,
    options.memoryBytes ?? defaultBudget(facts.limits),
  );
  const close = async (): Promise<void> => {
    device.destroy();
    await waits.settled();
  };
  const wait = waits.wait.bind(waits);
  return { device, facts, memory, wait, check: () => faults.check(), close };
}

async function requestDevice(adapter: GPUAdapter, facts: AdapterFacts): Promise<GPUDevice> {
  try {
    // By default, a buffer may have at most 256 MiB, and a kernel can access only 128 MiB of it.
    return await adapter.requestDevice({ requiredLimits: { ...facts.limits } });
  } catch (cause) {
    throw notOpened(`${facts.vendor} ${facts.description}`, cause);
  }
}
