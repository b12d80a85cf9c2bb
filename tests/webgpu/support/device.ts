/** Opens the engine's graphs on SwiftShader. */
import {
  createGraphRuntime,
  type DeviceOptions,
} from '../../../packages/engine-webgpu/src/index.js';
import type { GraphRuntime } from '../../../packages/engine-onnx/src/runtime/graph-runtime.js';
import { useSwiftShader } from '../../support/src/gpu/swiftshader.js';

/** Opens a separate device for one test. */
export async function openRuntimeWith(options: Partial<DeviceOptions>): Promise<GraphRuntime> {
  await useSwiftShader();
  return createGraphRuntime({ gate: (wait) => wait(), report: () => {}, ...options });
}

let opened: Promise<GraphRuntime> | undefined;

/** Opens the device that all test files of a process share, so that its kernels are compiled once. */
export const openRuntime = (): Promise<GraphRuntime> => (opened ??= openRuntimeWith({}));
