import { beforeAll, describe, expect, it } from 'vitest';
import { noSwiftShader, useSwiftShader } from '@trinity-rft/test-support';
import { openDevice } from '../device/device.js';
import { DeviceMemory } from '../device/memory.js';
import { Memory } from './memory.js';

/** A limit that is no size of the pool: 1,040 and 1,060 bytes share the class of 1,152. */
const largest = 1040;

async function withLimit(use: (memory: Memory, device: DeviceMemory) => void): Promise<void> {
  const { device, check, close } = await openDevice({ gate: (wait) => wait(), report: () => {} });
  const limits = { maxBufferSize: largest, maxStorageBufferBindingSize: largest };
  const createBuffer = device.createBuffer.bind(device);
  const limited = new DeviceMemory({ limits, createBuffer }, { check }, 10_000);
  use(new Memory(limited, () => {}), limited);
  await close();
}

describe.skipIf(noSwiftShader)(`buffers of a pool ${noSwiftShader ?? ''}`, () => {
  beforeAll(useSwiftShader);

  it('are reused by arrays of the same size class', () =>
    withLimit((memory, device) => {
      const first = memory.take(600);
      memory.give(first);
      expect(memory.take(610)).toBe(first);
      expect(device.used).toBe(first.size);
    }));

  it('are as large as the device allows, and never smaller than the array', () =>
    withLimit((memory) => {
      const first = memory.take(1030);
      expect(first.size).toBe(largest);
      memory.give(first);
      expect(() => memory.take(1060)).toThrow(
        expect.objectContaining({ code: 'ENGINE_GPU_LIMIT' }),
      );
      expect(memory.take(1040)).toBe(first);
    }));
});
