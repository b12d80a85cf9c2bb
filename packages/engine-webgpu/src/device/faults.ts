/**
 * Records the first error of a device. WebGPU does not throw where an error happens: invalid calls
 * return objects without effect, and reading them gives zeros. Dawn reports validation and memory
 * errors before the call returns, so code that checks after each creation and each wait misses no
 * error.
 */
import type { EngineError } from '@trinity-rft/core';
import { invalid, lost, reportedError } from './errors.js';

/** Maximum milliseconds between the rejection of a wait and the report that the device was lost. */
const reasonWaitMs = 1000;

export class Faults {
  /** Rejects when the device is lost. The waits of the device handle the rejection. */
  readonly lost: Promise<never>;
  #first: EngineError | undefined;

  constructor(device: GPUDevice) {
    device.addEventListener('uncapturederror', (event) => {
      event.preventDefault();
      this.add(reportedError(event.error));
    });
    this.lost = device.lost.then((info) => {
      throw this.add(lost(info));
    });
  }

  /** Records an error. Returns the first recorded error. */
  add(error: EngineError): EngineError {
    return (this.#first ??= error);
  }

  /**
   * Checks that the device has reported no error.
   * @throws EngineError if the device has reported an error
   */
  check(): void {
    if (this.#first) throw this.#first;
  }

  /**
   * Returns the reason why a wait was rejected. Dawn rejects with an empty message before it
   * reports a device loss.
   */
  async reason(cause: unknown): Promise<EngineError> {
    let timer: NodeJS.Timeout | undefined;
    const passed = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, reasonWaitMs);
    });
    try {
      if (!this.#first) await Promise.race([this.lost, passed]);
    } catch {
      // The device loss has been recorded.
    } finally {
      clearTimeout(timer);
    }
    const message = cause instanceof Error ? cause.message : String(cause);
    return this.add(invalid(message || 'a wait was aborted.', cause));
  }
}
