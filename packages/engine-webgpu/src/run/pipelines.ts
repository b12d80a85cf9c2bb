/** Compiled kernels, by source. */
import type { OpenDevice } from '../device/device.js';
import { uniformWords, type Kernel } from '../kernels/kernel.js';

/** A compiled kernel. */
export interface Pipeline {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

export class Pipelines {
  readonly #device: GPUDevice;
  readonly #wait: OpenDevice['wait'];
  readonly #layouts = new Map<string, GPUBindGroupLayout>();
  readonly #compiling = new Map<string, Promise<void>>();
  readonly #ready = new Map<string, Pipeline>();

  constructor({ device, wait }: Pick<OpenDevice, 'device' | 'wait'>) {
    this.#device = device;
    this.#wait = wait;
  }

  /** The compiled kernel; compiles it in this thread if it is not ready. */
  now(kernel: Kernel): Pipeline {
    const known = this.#ready.get(kernel.source);
    if (known) return known;
    const { pipeline, layout } = this.#parts(kernel);
    const made = { layout, pipeline: this.#device.createComputePipeline(pipeline) };
    this.#ready.set(kernel.source, made);
    return made;
  }

  /** Compiles kernels in the background, each once. @throws EngineError when the device rejects one */
  async compile(kernels: Iterable<Kernel>): Promise<void> {
    const waiting = [...kernels].filter(({ source }) => !this.#ready.has(source));
    await Promise.all(waiting.map((kernel) => this.#compiled(kernel)));
  }

  #compiled(kernel: Kernel): Promise<void> {
    const known = this.#compiling.get(kernel.source);
    if (known) return known;
    const made = this.#compile(kernel).finally(() => this.#compiling.delete(kernel.source));
    this.#compiling.set(kernel.source, made);
    return made;
  }

  async #compile(kernel: Kernel): Promise<void> {
    const { pipeline, layout } = this.#parts(kernel);
    const made = await this.#wait(
      () => this.#device.createComputePipelineAsync(pipeline),
      `the kernel ${kernel.name} to be compiled`,
    );
    this.#ready.set(kernel.source, { layout, pipeline: made });
  }

  #parts({ name, source, reads, writes }: Kernel) {
    const layout = this.#layout(reads, writes);
    const pipeline: GPUComputePipelineDescriptor = {
      label: name,
      layout: this.#device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module: this.#device.createShaderModule({ code: source }), entryPoint: 'main' },
    };
    return { layout, pipeline };
  }

  #layout(reads: number, writes: number): GPUBindGroupLayout {
    const key = `${reads} ${writes}`;
    const known = this.#layouts.get(key);
    if (known) return known;
    const visibility = GPUShaderStage.COMPUTE;
    const storage = Array.from({ length: reads + writes }, (_, i) => ({
      binding: i + 1,
      visibility,
      buffer: { type: i < reads ? ('read-only-storage' as const) : ('storage' as const) },
    }));
    const uniform = {
      type: 'uniform',
      hasDynamicOffset: true,
      minBindingSize: 4 * uniformWords,
    } as const;
    const layout = this.#device.createBindGroupLayout({
      entries: [{ binding: 0, visibility, buffer: uniform }, ...storage],
    });
    this.#layouts.set(key, layout);
    return layout;
  }
}
