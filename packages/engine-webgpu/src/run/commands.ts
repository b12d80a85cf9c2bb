/// <reference types="@webgpu/types" />
/** Queues commands for a device in order, and submits them in batches of limited estimated work. */
import { uniformWords, type Call } from '../kernels/kernel.js';
import type { Pipeline } from './pipelines.js';

/** Range of a buffer. */
export interface BufferPart {
  readonly buffer: GPUBuffer;
  /** Offset within the buffer, in bytes. */
  readonly offset: number;
  readonly bytes: number;
}

/**
 * Buffers of a dispatch, and the bind group of its last execution, which is reused unless a buffer
 * has changed.
 */
export interface Bindings {
  group: GPUBindGroup | undefined;
  parts: readonly BufferPart[];
}

/** Maximum number of dispatches per submit. Their uniforms must fit into one buffer. */
const dispatchLimit = 1024;

const bytesPerUniform = 4 * uniformWords;

interface CommandOptions {
  /**
   * Maximum estimated number of operations per submit. A submit exceeds it only if its single
   * dispatch does.
   */
  readonly budget: number;
  /** Executes `work`, and waits for the device. */
  readonly wait: <T>(work: () => Promise<T>) => Promise<T>;
}

export class Commands {
  readonly #device: GPUDevice;
  readonly #options: CommandOptions;
  readonly #uniforms: GPUBuffer;
  readonly #words = new Uint32Array(dispatchLimit * uniformWords);
  #encoder: GPUCommandEncoder | undefined;
  #pass: GPUComputePassEncoder | undefined;
  #dispatches = 0;
  #work = 0;

  constructor(device: GPUDevice, options: CommandOptions) {
    this.#device = device;
    this.#options = options;
    this.#uniforms = device.createBuffer({
      size: dispatchLimit * bytesPerUniform,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    });
  }

  dispatch({ pipeline, layout }: Pipeline, call: Call, bindings: Bindings): void {
    if (this.#dispatches === dispatchLimit || this.#isOver(call.work)) this.submit();
    const pass = (this.#pass ??= this.#open().beginComputePass());
    bindings.group ??= this.#bind(layout, bindings.parts);
    this.#words.set(call.uniforms, this.#dispatches * uniformWords);
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindings.group, [this.#dispatches * bytesPerUniform]);
    pass.dispatchWorkgroups(...call.groups);
    this.#dispatches++;
    this.#work += call.work;
  }

  copy(from: BufferPart, to: BufferPart): void {
    this.#close();
    this.#open().copyBufferToBuffer(from.buffer, from.offset, to.buffer, to.offset, from.bytes);
  }

  clear({ buffer, offset, bytes }: BufferPart): void {
    this.#close();
    this.#open().clearBuffer(buffer, offset, bytes);
  }

  /** Submits all queued commands, and then writes `numbers` to the buffer. */
  write({ buffer, offset }: BufferPart, numbers: Float32Array | Int32Array): void {
    this.submit();
    this.#device.queue.writeBuffer(buffer, offset, numbers);
  }

  /**
   * Reads several ranges of buffers and concatenates their bytes. All copies are queued in one
   * submit.
   */
  async read(parts: readonly BufferPart[]): Promise<ArrayBuffer> {
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    // Each part has its own buffer, because all parts together may exceed the largest buffer. These
    // buffers are in the host's memory and do not count towards the budget.
    const staging = parts.map((part) => {
      const buffer = this.#device.createBuffer({ size: part.bytes, usage });
      this.copy(part, { buffer, offset: 0, bytes: part.bytes });
      return buffer;
    });
    this.submit();
    await this.#options.wait(async () => {
      const mapped = staging.map((buffer) => buffer.mapAsync(GPUMapMode.READ));
      // The wait ends only when all buffers are mapped, because the thread may be terminated after
      // it.
      await Promise.allSettled(mapped);
      await Promise.all(mapped);
    });
    const found = new Uint8Array(parts.reduce((sum, { bytes }) => sum + bytes, 0));
    let end = 0;
    for (const buffer of staging) {
      found.set(new Uint8Array(buffer.getMappedRange()), end);
      end += buffer.size;
      buffer.destroy();
    }
    return found.buffer;
  }

  submit(): void {
    this.#close();
    if (!this.#encoder) return;
    const used = this.#dispatches * bytesPerUniform;
    if (used > 0) this.#device.queue.writeBuffer(this.#uniforms, 0, this.#words.buffer, 0, used);
    this.#device.queue.submit([this.#encoder.finish()]);
    this.#encoder = undefined;
    this.#dispatches = 0;
    this.#work = 0;
  }

  /** Submits the pending commands, and resolves when the device has executed all of them. */
  async settled(): Promise<void> {
    this.submit();
    await this.#options.wait(() => this.#device.queue.onSubmittedWorkDone());
  }

  #isOver(work: number): boolean {
    return this.#work > 0 && this.#work + work > this.#options.budget;
  }

  #open(): GPUCommandEncoder {
    return (this.#encoder ??= this.#device.createCommandEncoder());
  }

  #close(): void {
    this.#pass?.end();
    this.#pass = undefined;
  }

  #bind(layout: GPUBindGroupLayout, parts: readonly BufferPart[]): GPUBindGroup {
    const uniform = { buffer: this.#uniforms, size: bytesPerUniform };
    const storage = parts.map(({ buffer, offset, bytes }, i) => ({
      binding: i + 1,
      resource: { buffer, offset, size: Math.max(4, bytes) },
    }));
    return this.#device.createBindGroup({
      layout,
      entries: [{ binding: 0, resource: uniform }, ...storage],
    });
  }
}
