/**
 * GPU errors, each with a remedy. A GPU error ends a training run, except while the engine tests
 * the GPU for `model.device: auto`: it then uses the CPU instead.
 */
import { EngineError } from '@trinity-rft/core';

const onCpu = 'set model.device: cpu';

const again = `Start the run again to continue from its last checkpoint; if it happens again, ${onCpu}.`;

const driver: Partial<Record<NodeJS.Platform, string>> = {
  linux:
    'It needs a Vulkan loader (libvulkan.so.1; in Debian and Ubuntu the package libvulkan1) and the Vulkan driver of ' +
    'the GPU. ',
  win32: 'It needs a driver for Direct3D 12. ',
  darwin: 'It needs Metal. ',
};

export const noGpu = (): EngineError =>
  new EngineError(
    `The package webgpu finds no GPU on this machine. ${driver[process.platform] ?? ''}Install it, or ${onCpu}.`,
    { code: 'ENGINE_NO_GPU' },
  );

export const notOpened = (name: string, cause: unknown): EngineError =>
  new EngineError(
    `The GPU ${name} cannot be opened. Close other programs that use it, or ${onCpu}.`,
    { code: 'ENGINE_NO_GPU', cause },
  );

export const aboveLimit = (what: string, bytes: number, limit: number): EngineError =>
  new EngineError(
    `The ${what} takes ${megabytes(bytes)}; the GPU allows ${megabytes(limit)} in one buffer. ` +
      `Lower max_model_len or the batch size, take a smaller model, or ${onCpu}.`,
    { code: 'ENGINE_GPU_LIMIT', details: { bytes, limit } },
  );

/** Creates the error for an allocation that exceeds the memory budget. Sizes are in bytes. */
export const aboveBudget = (
  what: string,
  bytes: number,
  memory: { readonly used: number; readonly budget: number },
): EngineError =>
  new EngineError(
    `The ${what} takes ${megabytes(bytes)} of the GPU's memory; ${megabytes(memory.used)} of ` +
      `${megabytes(memory.budget)} are in use. ${lessMemory}`,
    { code: 'ENGINE_GPU_MEMORY', details: { bytes, ...memory } },
  );

const lessMemory = `Lower max_model_len, the batch size or model.memory_budget_mb, or ${onCpu}.`;

/** Converts an error that the driver reported as an event. WebGPU does not throw such errors. */
export function reportedError(error: GPUError): EngineError {
  if (error instanceof GPUOutOfMemoryError)
    return new EngineError(
      `The GPU has no memory left (${firstLine(error.message)}). Close other programs that use it. ${lessMemory}`,
      { code: 'ENGINE_GPU_MEMORY' },
    );
  return invalid(error.message);
}

export const invalid = (message: string, cause?: unknown): EngineError =>
  new EngineError(
    `The GPU rejected a command: ${firstLine(message)} This is a bug of engine-webgpu: please report it with the ` +
      `names of the GPU and its driver. Until it is fixed, ${onCpu}.`,
    { code: 'ENGINE_GPU_INVALID', details: { message }, cause },
  );

/** Creates the error for a graph that cannot be planned. @param what noun phrase */
export const unsupported = (what: string, details: Readonly<Record<string, string>>): EngineError =>
  new EngineError(`The WebGPU runtime does not support ${what}. To run this model, ${onCpu}.`, {
    code: 'ENGINE_GRAPH',
    details,
  });

export const lost = ({ reason, message }: GPUDeviceLostInfo): EngineError =>
  new EngineError(
    reason === 'destroyed'
      ? `The GPU was closed while work was queued. ${again}`
      : `The GPU was lost${message ? ` (${firstLine(message)})` : ''}: its driver was reset or updated, the machine ` +
          `slept, memory ran out, or one piece of work took too long. ${again}`,
    { code: 'ENGINE_GPU_LOST', details: { reason, message } },
  );

export const late = (what: string, ms: number): EngineError =>
  new EngineError(`The GPU has not finished after ${ms / 1000} s: ${what}. ${again}`, {
    code: 'ENGINE_GPU_TIMEOUT',
    details: { what, ms },
  });

const firstLine = (text: string): string => text.trim().split('\n', 1)[0]!;

const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
