/** Opens a device in this process, and runs programs that open a device in a separate process. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { swiftShaderEnvironment } from '@trinity-rft/test-support';
import { openDevice, type DeviceOptions, type OpenDevice } from '../../src/device/device.js';

export const open = (options: Partial<DeviceOptions> = {}): Promise<OpenDevice> =>
  openDevice({ gate: (wait) => wait(), report: () => {}, ...options });

/** Kernel of one workgroup that takes time in proportion to `rounds`. */
const busyKernel = (rounds: number): string => `
  @group(0) @binding(0) var<storage, read_write> x: array<f32>;
  @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    for (var i = 0u; i < ${rounds}u; i++) { x[id.x] = x[id.x] * 0.5 + 1.0; }
  }`;

/** Queues work that takes time in proportion to `rounds`. */
export function queueWork({ device, memory }: OpenDevice, rounds: number): GPUBuffer {
  const { STORAGE, COPY_SRC } = GPUBufferUsage;
  const buffer = memory.create(256, STORAGE | COPY_SRC, 'numbers');
  const module = device.createShaderModule({ code: busyKernel(rounds) });
  const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module } });
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [{ binding: 0, resource: { buffer } }],
  });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(1);
  pass.end();
  device.queue.submit([encoder.finish()]);
  return buffer;
}

interface Ended {
  readonly code: number | string | null;
  readonly output: string;
}

/** Runs a file of `test/programs` in a separate process, which a fault may end. */
export async function runProgram(
  name: string,
  options: { readonly flags?: readonly string[]; readonly env?: Record<string, string> } = {},
): Promise<Ended> {
  const file = path.join(import.meta.dirname, '../programs', name);
  const register = path.join(import.meta.dirname, '../../../../tools/register-source.mjs');
  const flags = ['--conditions=@trinity-rft/source', `--import=${register}`];
  const env = { ...process.env, ...(await swiftShaderEnvironment()), ...options.env };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [...flags, ...(options.flags ?? []), file],
      { env, timeout: 400_000 },
      (error, stdout, stderr) =>
        resolve({
          code: error?.code ?? (error ? null : 0),
          output: `${stdout}${stderr}`,
        }),
    );
  });
}
