/** Creates the models that serve a product's clients, one per session. */
import { randomBytes } from 'node:crypto';
import type { ChatFormat } from '@trinity-rft/chat';
import type { StageConfig } from '@trinity-rft/config';
import { describeError, type Runtime } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import { createRolloutModel, keptTokensOfServer } from '@trinity-rft/model';
import type { EncoderThread } from '@trinity-rft/model/internal';
import type { ServeOptions } from '../../outer/outer.js';
import { modelSettings } from '../../assembly/models/model-settings.js';
import { runOf, servedName } from './served-model.js';

interface Parts {
  readonly sampler: Sampler;
  readonly format: ChatFormat;
  readonly encoder: EncoderThread;
  /**
   * Number of times that the server was started. Seeds depend on this number, so that each process
   * has different seeds.
   */
  readonly start: number;
}

/**
 * Returns the function that creates the model of a session. Ids are random, so that they never
 * equal the ids of an earlier process.
 */
export function sessionModels(
  stage: StageConfig,
  runtime: Runtime,
  { sampler, format, encoder, start }: Parts,
): ServeOptions['createModel'] {
  const { rolloutModel, reasoningHistory } = stage.explorer;
  const { clock, logger } = runtime;
  const shared = {
    ...modelSettings(rolloutModel),
    sampler,
    format,
    modelPath: servedName(stage),
    modelEntry: () => ({ run: runOf(stage), step: sampler.policyVersion }),
    reasoning: reasoningHistory,
    encodeLongText: (text: string) => encoder.encode(text),
    // A product's clients may set sampling options, as with any other server.
    clientSampling: 'respect' as const,
    constrainedDecoding: true,
    strictFields: true,
    // A client may use one session for as long as the server runs.
    keptTokens: keptTokensOfServer,
    independentClients: true,
    streamText: 'sampled' as const,
    // The turn store records the calls instead.
    recordHistory: false,
    onFault: (error: unknown) => logger.error(`A call failed: ${describeError(error)}`),
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
      toolCallSalt: randomBytes(6).toString('hex'),
      seedFor: () => runtime.seedFor('serve', start, calls++),
    });
}
