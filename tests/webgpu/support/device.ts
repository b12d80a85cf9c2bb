/** The engine's graphs on SwiftShader. */
import {
  createGraphRuntime,
  type DeviceOptions,
} from '../../../packages/engine-webgpu/src/index.js';
import type { GraphRuntime } from '../../../packages/engine-onnx/src/runtime/graph-runtime.js';
import { noSwiftShader, useSwiftShader } from '../../support/src/gpu/swiftshader.js';

/** Why the tests of a device are skipped here; undefined if they run. */
export const reasonToSkip = noSwiftShader;

const options: DeviceOptions = { gate: (wait) => wait(), report: () => {} };

async function open(): Promise<GraphRuntime> {
  await useSwiftShader();
  return createGraphRuntime(options);
}

let opened: Promise<GraphRuntime> | undefined;

/** The device that all files of a process share: its kernels are compiled once. */
export const openRuntime = (): Promise<GraphRuntime> => (opened ??= open());
