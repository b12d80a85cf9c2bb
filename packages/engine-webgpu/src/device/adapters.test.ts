import { describe, expect, it } from 'vitest';
import { noSwiftShader, useSwiftShader } from '@trinity-rft/test-support';
import { listAdapters } from './adapters.js';
import { openDevice } from './device.js';

const gate = <T>(wait: () => Promise<T>): Promise<T> => wait();

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
