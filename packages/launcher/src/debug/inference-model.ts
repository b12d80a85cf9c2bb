/**
 * The configured model, kept loaded and served: for clients by hand, and for one debug run after
 * the other.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { createRolloutModel, openEndpointServer, type RecordingModel } from '@trinity-rft/model';
import { openChatFormat } from '../assembly/models/chat-format.js';
import { openSampling } from './models.js';
import { openDebugContext, type DebugOptions } from './open.js';
import { samplerHandler, writeServedModel } from './served-model.js';

export interface DebugModelOptions extends DebugOptions {
  /** On the loopback interface; 0 = any that is free. @default 0 */
  readonly port?: number;
}

export interface ServedDebugModel {
  /** OpenAI routes; ends in `/v1`. */
  readonly baseURL: string;
  readonly apiKey: string;
  /** The value for `model=`. */
  readonly model: string;
  /** Folder of the weights. */
  readonly folder: string;
  /** Aborts with the engine's error when it cannot answer any more. */
  readonly gone: AbortSignal;
  /** Ends serving and closes the engine. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the model and serves it until it is closed: one rollout for all callers, which keeps no
 * records and follows what clients say about sampling. Debug runs with the same output directory
 * find it there. @throws ConfigError when the model cannot be used
 */
export async function serveDebugModel(options: DebugModelOptions): Promise<ServedDebugModel> {
  const { context } = await openDebugContext(options);
  const { stage, runtime, startModel } = context;
  const directory = path.resolve(options.cwd ?? '.', options.outputDirectory ?? 'debug_output');
  const format = await openChatFormat(context);
  const engine = await openSampling(context, format);
  const closers = [() => engine.close()];
  const close = async (): Promise<void> => {
    for (const one of closers.splice(0).toReversed()) await one();
  };
  try {
    const server = await openEndpointServer({
      runtime,
      ...(options.port !== undefined && { port: options.port }),
    });
    closers.push(() => server.close());
    const { rolloutModel } = stage.explorer;
    const {
      maxPromptTokens,
      maxResponseTokens,
      maxModelLen,
      enableThinking,
      temperature,
      topP,
      topK,
    } = rolloutModel;
    const mounted = server.mount({ rollout: 'debug', handler: (request) => model.answer(request) });
    const model: RecordingModel = createRolloutModel({
      sampler: engine.sampler,
      format,
      modelPath: rolloutModel.name ?? stage.model.modelPath,
      limits: { maxPromptTokens, maxResponseTokens, maxModelLen },
      defaults: { temperature, topP, topK, maxTokens: maxResponseTokens },
      clientSampling: 'respect',
      recordHistory: false,
      ...(enableThinking !== undefined && { enableThinking }),
      seedFor: (call) => runtime.seedFor('debug', call),
      mounted,
      runtime,
    });
    const sampling = server.mount({ rollout: 'sampler', handler: samplerHandler(engine.sampler) });
    await mkdir(directory, { recursive: true });
    const unwrite = await writeServedModel(directory, {
      model: startModel,
      maxModelLen: engine.sampler.maxModelLen,
      policyVersion: engine.sampler.policyVersion,
      samplerURL: sampling.baseURL,
      samplerKey: sampling.apiKey,
      baseURL: mounted.baseURL,
      apiKey: mounted.apiKey,
      pid: process.pid,
    });
    closers.push(unwrite);
    return { ...mounted, model: model.modelPath, folder: startModel, gone: engine.gone, close };
  } catch (error) {
    await close();
    throw error;
  }
}
