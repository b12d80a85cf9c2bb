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

/**
 * Creates a machine for an open device.
 * @param budget maximum estimated number of operations per submit
 */
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

/** Creates a buffer that contains `numbers`. */
export function upload(
  { memory, commands }: Machine,
  numbers: Float32Array | Int32Array,
): BufferPart {
  const bytes = Math.max(4, numbers.byteLength);
  const part = { buffer: memory.take(bytes), offset: 0, bytes };
  commands.write(part, numbers);
  return part;
}

/** Allocates buffers that can be reused as soon as the commands that use them are queued. */
export interface Scratch {
  readonly take: (bytes: number) => BufferPart;
  readonly upload: (numbers: Float32Array | Int32Array) => BufferPart;
}

/**
 * Calls `queue`, which queues commands, and then returns the buffers that `queue` allocated to the
 * pool.
 */
export function withScratch<T>(machine: Machine, queue: (scratch: Scratch) => T): T {
  const taken: GPUBuffer[] = [];
  const keep = (part: BufferPart): BufferPart => {
    taken.push(part.buffer);
    return part;
  };
  const { memory } = machine;
  try {
    return queue({
      take: (bytes) => keep({ buffer: memory.take(bytes), offset: 0, bytes }),
      upload: (numbers) => keep(upload(machine, numbers)),
    });
  } finally {
    // In reverse order, so that the next execution takes the same buffers.
    for (const buffer of taken.toReversed()) memory.give(buffer);
  }
}
