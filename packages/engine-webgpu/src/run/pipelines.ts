/** Compiles kernels, and caches the results. */
import type { OpenDevice } from '../device/device.js';
import { uniformWords, type Kernel } from '../kernels/kernel.js';

/** A compiled kernel. */
export interface Pipeline {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

interface Layout {
  readonly group: GPUBindGroupLayout;
  readonly pipeline: GPUPipelineLayout;
}

export class Pipelines {
  readonly #device: GPUDevice;
  readonly #wait: OpenDevice['wait'];
  readonly #layouts = new Map<string, Layout>();
  readonly #compiling = new Map<Kernel, Promise<void>>();
  readonly #ready = new Map<Kernel, Pipeline>();

  constructor({ device, wait }: Pick<OpenDevice, 'device' | 'wait'>) {
    this.#device = device;
    this.#wait = wait;
  }

  /** Returns the compiled kernel. Compiles it synchronously if it is not ready. */
  now(kernel: Kernel): Pipeline {
    const known = this.#ready.get(kernel);
    if (known) return known;
    const { pipeline, layout } = this.#parts(kernel);
    const made = { layout, pipeline: this.#device.createComputePipeline(pipeline) };
    this.#ready.set(kernel, made);
    return made;
  }

  /**
   * Compiles kernels in the background, each once.
   * @throws EngineError if the device rejects a kernel
   */
  async compile(kernels: Iterable<Kernel>): Promise<void> {
    const waiting = [...kernels].filter((kernel) => !this.#ready.has(kernel));
    await Promise.all(waiting.map((kernel) => this.#compiled(kernel)));
  }

  #compiled(kernel: Kernel): Promise<void> {
    const known = this.#compiling.get(kernel);
    if (known) return known;
    const made = this.#compile(kernel).finally(() => this.#compiling.delete(kernel));
    this.#compiling.set(kernel, made);
    return made;
  }

  async #compile(kernel: Kernel): Promise<void> {
    const { pipeline, layout } = this.#parts(kernel);
    const made = await this.#wait(
      () => this.#device.createComputePipelineAsync(pipeline),
      `the kernel ${kernel.name} to be compiled`,
    );
    this.#ready.set(kernel, { layout, pipeline: made });
  }

  #parts({ name, source, reads, writes }: Kernel) {
    const layout = this.#layout(reads, writes);
    const pipeline: GPUComputePipelineDescriptor = {
      label: name,
      layout: layout.pipeline,
      compute: { module: this.#device.createShaderModule({ code: source }), entryPoint: 'main' },
    };
    return { layout: layout.group, pipeline };
  }

  #layout(reads: number, writes: number): Layout {
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
    const group = this.#device.createBindGroupLayout({
      entries: [{ binding: 0, visibility, buffer: uniform }, ...storage],
    });
    const pipeline = this.#device.createPipelineLayout({ bindGroupLayouts: [group] });
    const layout = { group, pipeline };
    this.#layouts.set(key, layout);
    return layout;
  }
}
