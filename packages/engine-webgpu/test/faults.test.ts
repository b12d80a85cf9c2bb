/** Faults of a device: each ends in an error with a code, never in zeros or an aborted process. */
import { beforeAll, describe, expect, it } from 'vitest';
import { noSwiftShader, useSwiftShader } from '@trinity-rft/test-support';
import { open, queueWork, runProgram } from './support/open.js';

describe.skipIf(noSwiftShader)(`faults of a device ${noSwiftShader ?? ''}`, () => {
  beforeAll(useSwiftShader);

  it('no adapter', async () => {
    const { output } = await runProgram('no-adapter.ts', {
      env: { VK_ICD_FILENAMES: '/nowhere.json' },
    });
    expect(output).toContain('ENGINE_NO_GPU');
    expect(output).toContain('model.device: cpu');
  });

  it('a buffer above the limit', async () => {
    const { memory, close } = await open();
    const usage = GPUBufferUsage.STORAGE;
    expect(() => memory.create(memory.largest + 4, usage, 'embedding')).toThrow(
      expect.objectContaining({
        code: 'ENGINE_GPU_LIMIT',
        message: expect.stringMatching(/^The embedding takes .* model\.device: cpu\.$/),
      }),
    );
    expect(memory.used).toBe(0);
    await close();
  });

  it('memory above the budget, which counts what is destroyed', async () => {
    const { memory, close } = await open({ memoryBytes: 1000 });
    const create = (): GPUBuffer => memory.create(600, GPUBufferUsage.STORAGE, 'cache');
    const first = create();
    expect(create).toThrow(expect.objectContaining({ code: 'ENGINE_GPU_MEMORY' }));
    memory.destroy(first);
    expect(memory.used).toBe(0);
    expect(create().size).toBe(600);
    await close();
  });

  it('memory that the driver does not have', async () => {
    const { memory, close } = await open({ memoryBytes: 2 ** 60 });
    const take = (): void => {
      for (let i = 0; i < 10_000; i++)
        memory.create(memory.largest, GPUBufferUsage.STORAGE, 'cache');
    };
    expect(take).toThrow(expect.objectContaining({ code: 'ENGINE_GPU_MEMORY' }));
    await close();
  });

  it('an invalid dispatch', async () => {
    const { device, wait, close } = await open();
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.dispatchWorkgroups(1);
    pass.end();
    device.queue.submit([encoder.finish()]);
    await expect(wait(() => device.queue.onSubmittedWorkDone())).rejects.toMatchObject({
      code: 'ENGINE_GPU_INVALID',
    });
    await close();
  });

  it('a buffer that one dispatch reads and writes', async () => {
    const { device, memory, wait, check, close } = await open();
    const code = `@group(0) @binding(0) var<storage, read> a: array<f32>;
      @group(0) @binding(1) var<storage, read_write> b: array<f32>;
      @compute @workgroup_size(1) fn main() { b[0] = a[0] + 1; }`;
    const module = device.createShaderModule({ code });
    const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module } });
    const buffer = memory.create(1024, GPUBufferUsage.STORAGE, 'numbers');
    const entries = [0, 1].map((binding) => ({
      binding,
      resource: { buffer, offset: 512 * binding, size: 512 },
    }));
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    check();
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(1);
    pass.end();
    device.queue.submit([encoder.finish()]);
    await expect(wait(() => device.queue.onSubmittedWorkDone())).rejects.toMatchObject({
      code: 'ENGINE_GPU_INVALID',
      details: { message: expect.stringContaining('usage') },
    });
    await close();
  });

  it('a device that is destroyed during work', async () => {
    const opened = await open();
    const { device, memory, wait, close } = opened;
    const { MAP_READ, COPY_DST } = GPUBufferUsage;
    const result = memory.create(256, MAP_READ | COPY_DST, 'result');
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(queueWork(opened, 500_000), 0, result, 0, 256);
    device.queue.submit([encoder.finish()]);
    const read = wait(() => result.mapAsync(GPUMapMode.READ), 'reading numbers');
    const [, { reason }] = (await Promise.allSettled([close(), read])) as [
      unknown,
      PromiseRejectedResult,
    ];
    expect(reason).toMatchObject({ code: 'ENGINE_GPU_LOST' });
    await expect(wait(async () => 1)).rejects.toMatchObject({ code: 'ENGINE_GPU_LOST' });
  });

  it('a wait beyond its deadline, which nothing may follow', async () => {
    const { wait, close } = await open({ deadlineMs: 50 });
    const stuck = Promise.withResolvers<void>();
    await expect(wait(() => stuck.promise, 'a step')).rejects.toMatchObject({
      code: 'ENGINE_GPU_TIMEOUT',
      details: { what: 'a step', ms: 50 },
    });
    await expect(wait(async () => 1)).rejects.toMatchObject({ code: 'ENGINE_GPU_TIMEOUT' });
    stuck.resolve();
    await close();
  });

  it('a wait of more than five seconds says what it waits for', async () => {
    const reports: string[] = [];
    const { wait, close } = await open({ report: (message) => reports.push(message) });
    const slow = Promise.withResolvers<void>();
    const done = wait(() => slow.promise, 'a step');
    await expect.poll(() => reports).toHaveLength(1);
    expect(reports[0]).toBe('Waiting for the GPU for 5 s (at most 600 s): a step');
    slow.resolve();
    await done;
    await close();
  });

  it('a thread that is ended during a wait', async () => {
    const { output, code } = await runProgram('ended-thread.ts');
    expect({ output, code }).toEqual({ output: 'ended with 2 inside', code: 0 });
  });

  it('collections of garbage during 60,000 waits', async () => {
    const { output, code } = await runProgram('many-waits.ts', {
      flags: ['--expose-gc'],
      env: { WAITS: '60000' },
    });
    expect({ output, code }).toEqual({ output: 'waited 60000 times', code: 0 });
  });
});
