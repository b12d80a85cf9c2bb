/**
 * The embedded engine: trains and samples one model in worker threads. The engine handles token ids
 * and weights; it has no text, rewards or algorithms.
 */
import { silentLogger } from '@trinity-rft/core';
import type { Engine } from '@trinity-rft/core/engine';

import { onnxCapabilities } from './capabilities.js';
import { completeOptions, type OnnxEngineOptions } from './protocol/options.js';
import { connectEngine } from './client/remote-engine.js';
import { startWorker } from './worker/start-worker.js';

/**
 * Opens a model folder in a worker thread. Additional threads for sampling start with the first
 * request. The process stays alive until the engine is closed.
 * @throws CheckpointError when the folder cannot be used, EngineError when the options do not fit
 * the model or are outside their ranges
 */
export async function createOnnxEngine(options: OnnxEngineOptions): Promise<Engine> {
  const complete = completeOptions(options);
  options.signal?.throwIfAborted();
  const { engine, facts } = await connectEngine(
    (worker) => startWorker({ kind: 'engine', options: worker }),
    complete,
    onnxCapabilities,
    options.signal,
  );
  const { modelPath, threads } = complete;
  const { maxModelLen, parameters, trained } = facts;
  const { logger = silentLogger } = options;
  if (facts.isTextPart)
    logger.warn(
      'The model takes more than text: its text part is trained alone, and checkpoints are of a model without the rest',
      { modelPath },
    );
  logger.info('The embedded engine is ready', {
    modelPath,
    threads,
    maxModelLen,
    parameters,
    trained,
  });
  return engine;
}
