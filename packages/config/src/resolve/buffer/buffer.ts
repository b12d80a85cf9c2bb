/** Resolves the `buffer` section: batch sizes, task sets and the experience buffer. */
import { resolveSection } from '../../schema/resolve-section.js';
import type { StageContext } from '../base/context.js';
import type { BufferConfig, SynchronizerConfig } from '../base/resolved.js';
import { deriveAuxiliaryBuffers, deriveExperienceBuffer } from './experience-buffer.js';
import { deriveExperts } from './sample-strategy.js';
import { deriveTasksets, type TasksetNeeds } from './tasksets.js';
import { deriveTrainBatch } from './train-batch-size.js';

export interface BufferNeeds extends TasksetNeeds {
  /** Folder of the stage. */
  readonly jobDirectory: string;
  readonly synchronizer: SynchronizerConfig;
  /**
   * Maximum lag of the sampling weights in explore steps; undefined if only the capacity of the
   * experience buffer limits the lag.
   */
  readonly stalenessBound: number | undefined;
}

export function deriveBuffer(context: StageContext, needs: BufferNeeds): BufferConfig {
  const { model, algorithm } = needs;
  const explorerInput = deriveTasksets(context, needs);
  const trainBatch = deriveTrainBatch(context, needs);
  const trainBatchSize = trainBatch.size;
  const buffers = deriveAuxiliaryBuffers(context, model);
  return {
    ...resolveSection(context.sections.buffer, context.input.buffer),
    trainBatchSize,
    trainBatch,
    explorerInput,
    trainerInput: {
      experienceBuffer: deriveExperienceBuffer(context, model, needs),
      experts: deriveExperts(context, algorithm, { trainBatchSize, buffers }),
    },
  };
}
