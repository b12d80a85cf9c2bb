/** What serves the clients of a product: a recording model for each session. */
import { randomBytes } from 'node:crypto';
import type { ChatFormat } from '@trinity-rft/chat';
import type { Sampler } from '@trinity-rft/core';
import { createRolloutModel } from '@trinity-rft/model';
import type { ServeOptions } from '@trinity-rft/serve';
import type { StageContext } from '../../context/stage-context.js';

interface Parts {
  readonly sampler: Sampler;
  readonly format: ChatFormat;
  /** Differs from process to process. */
  readonly start: number;
}

/**
 * A recording model for each session. Ids are random, so that those of an earlier process stay what
 * they are.
 */
export function sessionHandlers(
  { stage, runtime }: StageContext,
  { sampler, format, start }: Parts,
): ServeOptions['createHandler'] {
  const { rolloutModel, reasoningHistory, constrainedDecoding } = stage.explorer;
  const {
    maxPromptTokens,
    maxResponseTokens,
    maxModelLen,
    minResponseTokens,
    enableThinking,
    temperature,
    topP,
    topK,
  } = rolloutModel;
  const { clock, logger } = runtime;
  const notices = new Set<string>();
  let calls = 0;
  return (_, onCall) =>
    createRolloutModel({
      sampler,
      format,
      modelPath: rolloutModel.name ?? stage.model.modelPath,
      limits: { maxPromptTokens, maxResponseTokens, maxModelLen },
      defaults: {
        temperature,
        topP,
        topK,
        maxTokens: maxResponseTokens,
        minTokens: minResponseTokens,
      },
      ...(enableThinking !== undefined && { enableThinking }),
      reasoning: reasoningHistory,
      constrainedDecoding,
      // The turn store records.
      recordHistory: false,
      onAnswer: ({ id, experiences }) => onCall({ msgId: id, experiences }),
      seedFor: () => runtime.seedFor('serve', start, calls++),
      runtime: {
        clock,
        logger,
        newId: (prefix) => `${prefix}_${randomBytes(12).toString('base64url')}`,
      },
      notices,
    }).handler;
}
