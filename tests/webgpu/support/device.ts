/** A device without a GPU: SwiftShader, the software driver of Chromium. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { createMachine, type Machine } from '../../../packages/engine-webgpu/src/run/machine.js';
import { DeviceRuntime } from '../../../packages/engine-webgpu/src/runtime.js';

const root = new URL('../../../', import.meta.url).pathname;

/** Unpacks the driver and a Vulkan loader once; returns their folder. */
function unpacked(): string {
  const folder = join(root, 'node_modules/.cache/swiftshader');
  if (existsSync(folder)) return folder;
  const found = createRequire(join(root, 'tests/support/package.json')).resolve(
    '@sparticuz/chromium',
  );
  const packed = join(found.slice(0, found.lastIndexOf('chromium') + 8), 'bin/swiftshader.tar.br');
  const partial = `${folder}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  const input = brotliDecompressSync(readFileSync(packed));
  execFileSync('tar', ['-x', '-C', partial], { input });
  if (!existsSync(folder)) renameSync(partial, folder);
  return folder;
}

/** Loads the Vulkan loader for good, so that Dawn finds it by its name. */
function loadVulkan(folder: string): void {
  const neverUnload = 0x1000;
  process.env['VK_ICD_FILENAMES'] = join(folder, 'vk_swiftshader_icd.json');
  try {
    process.dlopen(
      { exports: {} },
      join(folder, 'libvulkan.so.1'),
      constants.dlopen.RTLD_NOW | neverUnload,
    );
  } catch {
    // It is not an addon of Node, but stays loaded.
  }
}

/** Kept, because Dawn ends the process when this object is collected. */
let gpu: GPU | undefined;

async function open(): Promise<Machine> {
  loadVulkan(unpacked());
  const webgpu = createRequire(join(root, 'packages/engine-webgpu/package.json')).resolve('webgpu');
  const { create, globals } = (await import(webgpu)) as {
    readonly create: (options: readonly string[]) => GPU;
    readonly globals: object;
  };
  Object.assign(globalThis, globals);
  gpu = create([]);
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw new Error(`SwiftShader in ${dirname(webgpu)} gives no adapter.`);
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  const device = await adapter.requestDevice({
    requiredLimits: { maxBufferSize, maxStorageBufferBindingSize },
  });
  device.addEventListener('uncapturederror', (event) => {
    errors.push(event.error.message);
  });
  return createMachine(device, { budget: () => 2e8, wait: (work) => work() });
}

const errors: string[] = [];
let opened: Promise<Machine> | undefined;

/** Why the tests of a device are skipped here; undefined if they run. */
export const reasonToSkip =
  process.platform === 'linux' && process.arch === 'x64'
    ? undefined
    : 'SwiftShader is packed for Linux on x64 only';

/** The device that all files of a process share: its kernels are compiled once. */
const openMachine = (): Promise<Machine> => (opened ??= open());

export const openRuntime = async (): Promise<DeviceRuntime> =>
  new DeviceRuntime(await openMachine(), async () => {});

/** Errors that no call has thrown, since the last call. */
export const takeErrors = (): readonly string[] => errors.splice(0);
