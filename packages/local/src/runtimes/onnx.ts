import { tokenByteTable, type Tokenizer } from '@trinity-rft/chat';
import { createOnnxEngine } from '@trinity-rft/engine-onnx';
import { openTogether } from '@trinity-rft/core/support';
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
export function openOnnxRuntime(
  folder: string,
  { tokenizer, maxModelLen, threads }: OnnxRuntimeOptions,
): Promise<Runtime> {
  return openTogether(async (stack) => {
    const engine = await createOnnxEngine({
      modelPath: folder,
      tokenBytes: tokenByteTable(tokenizer),
      interactive: true,
      maxSamplers: 1,
      maxModelLen,
      threads,
    });
    stack.use(engine);
    await engine.trainer.publish(0);
    await engine.sampler.adopt({ kind: 'published' }, 0);
    return { sampler: engine.sampler, enforcesFormats: true, close: () => stack.close() };
  });
}
