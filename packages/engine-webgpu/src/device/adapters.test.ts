import { describe, expect, it } from 'vitest';
import { noSwiftShader, useSwiftShader } from '@trinity-rft/test-support';
import { findAdapter, listAdapters } from './adapters.js';
import { openDevice } from './device.js';

const gate = <T>(wait: () => Promise<T>): Promise<T> => wait();

it('a driver that never answers is waited for no longer than the deadline', async () => {
  const silent = { requestAdapter: () => new Promise<never>(() => {}) } as unknown as GPU;
  const found = findAdapter(silent, { gate, report: () => {}, deadlineMs: 5 });
  await expect(found).rejects.toMatchObject({
    code: 'ENGINE_GPU_TIMEOUT',
    message: expect.stringContaining('its adapter'),
  });
});

describe.skipIf(noSwiftShader)(`adapters ${noSwiftShader ?? ''}`, () => {
  it('are listed once each, with what they are and allow', async () => {
    await useSwiftShader();
    const adapters = await listAdapters();
    expect(adapters).toMatchObject([
      { vendor: 'google', architecture: 'swiftshader', isSoftware: true },
    ]);
    expect(adapters[0]!.limits.maxBufferSize).toBeGreaterThan(2 ** 28);
  });

  it('open with their own limits', async () => {
    await useSwiftShader();
    const { device, facts, close } = await openDevice({ gate, report: () => {} });
    expect(device.limits).toMatchObject({ maxBufferSize: facts.limits.maxBufferSize });
    await close();
  });
});
