/** A device with its pipelines, memory and command queue. */
import type { Call } from '../kernels/kernel.js';
import type { OpenDevice } from '../device/device.js';
import { Commands, type BufferPart } from './commands.js';
import { Memory } from './memory.js';
import { Pipelines } from './pipelines.js';

export interface Machine {
  readonly pipelines: Pipelines;
  readonly memory: Memory;
  readonly commands: Commands;
}

/** @param budget estimated operations of one submit */
export function createMachine(
  { device, memory, wait }: Pick<OpenDevice, 'device' | 'memory' | 'wait'>,
  budget: number,
): Machine {
  const commands = new Commands(device, { budget, wait });
  return {
    pipelines: new Pipelines({ device, wait }),
    memory: new Memory(memory, () => commands.submit()),
    commands,
  };
}

/** Queues a dispatch outside a graph. */
export function dispatchOnce(
  { pipelines, commands }: Machine,
  call: Call,
  parts: readonly BufferPart[],
): void {
  commands.dispatch(pipelines.now(call.kernel), call, { group: undefined, parts });
}
