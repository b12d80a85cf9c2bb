/// <reference types="@webgpu/types" />
/** Lists the GPUs that the package `webgpu` (Dawn for Node.js) finds on this machine. */
import { loadPeer } from '@trinity-rft/core/support';
import { noGpu } from './errors.js';
import { waitForDriver, type WaitOptions } from './waits.js';

/** Facts about a GPU. */
export interface AdapterFacts {
  /** Vendor of the GPU, such as `nvidia` or `apple`. */
  readonly vendor: string;
  /** Generation of the hardware, such as `ampere`. Empty if unknown. */
  readonly architecture: string;
  /** Name of the GPU, followed by the name and version of its driver. */
  readonly description: string;
  /**
   * True for a software adapter, which computes on the CPU and is slower than the engine's CPU
   * backend.
   */
  readonly isSoftware: boolean;
  readonly limits: AdapterLimits;
}

const limitNames = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupsPerDimension',
] as const;

/** Device limits that the engine needs, keyed by their WebGPU names. Sizes are in bytes. */
export type AdapterLimits = Readonly<Record<(typeof limitNames)[number], number>>;

interface FoundAdapter {
  readonly adapter: GPUAdapter;
  readonly facts: AdapterFacts;
}

/**
 * Dawn's entry object in this thread. It is kept forever, because the process would crash a few
 * thousand waits after the object's garbage collection.
 */
let dawn: GPU | undefined;

/**
 * Dawn option that disables zero-initialization of workgroup memory, which the kernels do not need,
 * because they write this memory before they read it. SwiftShader then compiles kernels three to
 * ten times as fast.
 */
const noSharedZeros = 'enable-dawn-features=disable_workgroup_init';

/**
 * Loads Dawn, once per thread.
 * @throws ConfigError if the package is missing
 */
export async function loadDawn(): Promise<GPU> {
  const { create, globals } = await loadPeer(
    'webgpu',
    'model.device: webgpu',
    async () => import('webgpu'),
  );
  Object.assign(globalThis, globals);
  return (dawn ??= create([noSharedZeros]));
}

/**
 * Finds the adapter that the engine uses, which is the faster one if the machine has two GPUs.
 * @throws EngineError if there is no adapter or the deadline passes
 */
export async function findAdapter(gpu: GPU, options: WaitOptions): Promise<FoundAdapter> {
  const request = { powerPreference: 'high-performance' } as const;
  const adapter = await waitForDriver(options, () => gpu.requestAdapter(request), 'its adapter');
  if (!adapter) throw noGpu();
  return { adapter, facts: factsOf(adapter) };
}

/**
 * Returns facts about the machine's GPUs. The engine uses the first GPU.
 * @throws ConfigError if the package `webgpu` is missing, EngineError if there is no GPU
 */
export async function listAdapters(): Promise<readonly AdapterFacts[]> {
  const gpu = await loadDawn();
  const found = new Map<string, AdapterFacts>();
  // WebGPU has no list of adapters. Each request returns one adapter.
  for (const powerPreference of ['high-performance', 'low-power'] as const) {
    const adapter = await gpu.requestAdapter({ powerPreference });
    if (!adapter) continue;
    const facts = factsOf(adapter);
    found.set(JSON.stringify(facts), facts);
  }
  if (found.size === 0) throw noGpu();
  return [...found.values()];
}

/** Matches the names of software drivers that do not report themselves as fallback adapters. */
const softwareNames = /swiftshader|llvmpipe|lavapipe|basic render|warp/i;

function factsOf({ info, limits }: GPUAdapter): AdapterFacts {
  const { vendor, architecture, device } = info;
  const description = [device, info.description].filter(Boolean).join(', ');
  const isSoftware = info.isFallbackAdapter || softwareNames.test(`${architecture} ${description}`);
  return { vendor, architecture, description, isSoftware, limits: limitsOf(limits) };
}

const limitsOf = (limits: GPUSupportedLimits): AdapterLimits =>
  Object.fromEntries(limitNames.map((name) => [name, limits[name]])) as AdapterLimits;
