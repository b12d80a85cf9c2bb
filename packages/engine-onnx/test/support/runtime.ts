/** The default runtime in this thread, and the numbers of its arrays. */
import { OnnxRuntime } from '../../src/runtime/onnx-runtime.js';

export { flatOf } from '../../src/runtime/onnx-arrays.js';

/** @param threads inside one operator. @default 1 */
export const cpu = (threads = 1): OnnxRuntime =>
  new OnnxRuntime({ threads: { train: threads, sample: threads } });
