/** The handlers that answer a product's clients: one recording model per session. */
import { randomBytes } from 'node:crypto';
import type { ChatFormat } from '@trinity-rft/chat';
import type { Sampler } from '@trinity-rft/core';
import { createRolloutModel } from '@trinity-rft/model';
import type { ServeOptions } from '@trinity-rft/serve';
import { modelSettings } from '../../assembly/models/model-settings.js';
import type { StageContext } from '../../context/stage-context.js';

interface Parts {
  readonly sampler: Sampler;
  readonly format: ChatFormat;
  /** How often the server was started; makes the seeds of each process differ. */
  readonly start: number;
}

/** Ids are random, so that they never repeat ids from an earlier process. */
export function sessionHandlers(
  { stage, runtime }: StageContext,
  { sampler, format, start }: Parts,
): ServeOptions['createHandler'] {
  const { rolloutModel, reasoningHistory, constrainedDecoding } = stage.explorer;
  const { clock, logger } = runtime;
  const shared = {
    ...modelSettings(rolloutModel),
    sampler,
    format,
    modelPath: rolloutModel.name ?? stage.model.modelPath,
    reasoning: reasoningHistory,
    constrainedDecoding,
    // The turn store records instead.
    recordHistory: false,
    runtime: {
      clock,
      logger,
      newId: (prefix: string) => `${prefix}_${randomBytes(12).toString('base64url')}`,
    },
    notices: new Set<string>(),
  };
  let calls = 0;
  return (_session, onCall) =>
    createRolloutModel({
      ...shared,
      onAnswer: ({ id, experiences }) => onCall({ msgId: id, experiences }),
      seedFor: () => runtime.seedFor('serve', start, calls++),
    }).handler;
}
