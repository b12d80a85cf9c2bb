/**
 * Records the first error of a device. WebGPU does not throw errors where they occur: an invalid
 * call returns an object that does nothing, and reading its results gives zeros. Dawn reports
 * validation and memory errors before the call returns, so a check after each creation and each
 * wait finds every error.
 */
import type { EngineError } from '@trinity-rft/core';
import { invalid, lost, reportedError } from './errors.js';

/** Maximum time in ms from the rejection of a wait until the loss of the device is reported. */
const reasonWaitMs = 1000;

export class Faults {
  /** Promise that rejects when the device is lost. The class `Waits` handles the rejection. */
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
   * Throws the recorded error, if any.
   * @throws EngineError if the device has reported an error
   */
  check(): void {
    if (this.#first) throw this.#first;
  }

  /**
   * Returns the error that explains the rejection of a wait. Waits up to a second for the report of
   * a device loss, because Dawn first rejects the wait with an empty message.
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
