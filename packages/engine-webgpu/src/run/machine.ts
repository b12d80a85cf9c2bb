/** One device with what runs its commands. */
import type { Call } from '../kernels/kernel.js';
import { Commands, type BufferPart, type CommandOptions } from './commands.js';
import { Memory } from './memory.js';
import { Pipelines } from './pipelines.js';

export interface Machine {
  readonly device: GPUDevice;
  readonly pipelines: Pipelines;
  readonly memory: Memory;
  readonly commands: Commands;
}

export const createMachine = (device: GPUDevice, options: CommandOptions): Machine => ({
  device,
  pipelines: new Pipelines(device),
  memory: new Memory(device),
  commands: new Commands(device, options),
});

/** Queues a dispatch outside a graph. */
export function dispatchOnce(
  { pipelines, commands }: Machine,
  call: Call,
  parts: readonly BufferPart[],
): void {
  commands.dispatch(pipelines.now(call.kernel), call, { group: undefined, parts });
}
