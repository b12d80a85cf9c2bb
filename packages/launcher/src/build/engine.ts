/** The engine of a stage. */
import { tokenByteTable, type ChatFormat } from '@trinity-rft/chat';
import type { Engine } from '@trinity-rft/core';
import { createOnnxEngine } from '@trinity-rft/engine-onnx';
import type { StageContext } from '../context.js';

const bytesPerMebibyte = 2 ** 20;

/** Opens the stage's model; `reference` keeps its first weights for the KL term. */
export function openEngine({ stage, startModel }: StageContext, options: { readonly reference: boolean; readonly format: ChatFormat }): Promise<Engine> {
  const { threads, memoryBudgetMb, maxModelLen } = stage.model;
  return createOnnxEngine({
    modelPath: startModel,
    reference: options.reference,
    maxModelLen,
    tokenBytes: tokenByteTable(options.format.tokenizer),
    ...(threads !== undefined && { threads }),
    ...(memoryBudgetMb !== undefined && { memoryBudgetBytes: memoryBudgetMb * bytesPerMebibyte }),
  });
}
