/** Model folders in the embedded engine. */
import { tokenByteTable, type Tokenizer } from '@trinity-rft/chat';
import { createOnnxEngine } from '@trinity-rft/engine-onnx';
import type { Runtime } from './runtime.js';

interface OnnxRuntimeOptions {
  readonly tokenizer: Tokenizer;
  readonly maxModelLen: number | undefined;
  readonly threads: number | undefined;
}

/**
 * Opens a model folder in the embedded engine.
 * @throws CheckpointError if the folder cannot be used
 */
export async function openOnnxRuntime(
  folder: string,
  { tokenizer, maxModelLen, threads }: OnnxRuntimeOptions,
): Promise<Runtime> {
  const engine = await createOnnxEngine({
    modelPath: folder,
    tokenBytes: tokenByteTable(tokenizer),
    interactive: true,
    maxSamplers: 1,
    maxModelLen,
    threads,
  });
  try {
    await engine.trainer.publish(0);
    await engine.sampler.adopt({ kind: 'published' }, 0);
  } catch (error) {
    await engine.close();
    throw error;
  }
  return { sampler: engine.sampler, enforcesFormats: true, close: () => engine.close() };
}
