/** Executes the engine's graphs on this machine's GPU. */
import type { GraphRuntime, ModelRecord } from '@trinity-rft/engine-onnx/graph-runtime';
import { loadDawn } from './device/adapters.js';
import { openDevice, type DeviceOptions } from './device/device.js';
import { checkGraph } from './plan/plan.js';
import { createMachine } from './run/machine.js';
import { DeviceRuntime } from './runtime.js';

/**
 * Maximum estimated number of operations per submit, which takes about a tenth of a second. Drivers
 * abort long submits, and the desktop freezes during a submit.
 */
const portions = { gpu: 5e10, software: 2e8 };

/**
 * Creates a graph runtime on the GPU of this machine.
 * @throws ConfigError if the package `webgpu` is missing, EngineError if there is no GPU or it
 * cannot be opened
 */
export async function createGraphRuntime(options: DeviceOptions): Promise<GraphRuntime> {
  const opened = await openDevice(options);
  const machine = createMachine(opened, opened.facts.isSoftware ? portions.software : portions.gpu);
  return new DeviceRuntime(machine, opened.close);
}

/**
 * Checks that the kernels support a graph and that the package `webgpu` can be loaded. Does not
 * open a device.
 * @throws ConfigError if the package `webgpu` is missing, EngineError naming an operator that has
 * no kernel
 */
export async function checkRecord(record: ModelRecord): Promise<void> {
  await loadDawn();
  checkGraph(record);
}
