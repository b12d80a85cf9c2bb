/** Serves the configured model to clients and to repeated debug runs. */
import {
  createRolloutModel,
  keptTokensOfServer,
  openEndpointServer,
  type RecordingModel,
} from '@trinity-rft/model';
import { makeFolder, openTogether } from '@trinity-rft/core/support';
import { openFrozenModel } from '@trinity-rft/launcher/parts';
import { openDebugContext, type DebugOptions } from './open.js';
import { samplerHandler, writeServedModel } from './served-model.js';

interface DebugModelOptions extends DebugOptions {
  /** Port on the loopback interface; 0 selects any free port. @default 0 */
  readonly port?: number;
}

interface ServedDebugModel {
  /** Base URL for OpenAI clients; ends in `/v1`. */
  readonly baseURL: string;
  readonly apiKey: string;
  /** Model name that clients pass as `model`. */
  readonly model: string;
  /** Folder of the weights. */
  readonly folder: string;
  /** Aborts with the engine's error once the engine can no longer respond. */
  readonly engineFailed: AbortSignal;
  /** Stops the server and closes the engine. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the model and serves it until it is closed. All clients share one rollout, which records
 * nothing and uses the sampling parameters of each request. Debug runs with the same output
 * directory and the same weights sample from this server instead of loading the model.
 * @throws ConfigError when the model cannot be used
 */
export async function serveDebugModel(options: DebugModelOptions): Promise<ServedDebugModel> {
  const { context, outputDirectory } = await openDebugContext({ ...options, checkNames: false });
  const { stage, runtime, startModel } = context;
  const { rolloutModel } = stage.explorer;
  return openTogether(async (stack) => {
    const frozen = stack.use(await openFrozenModel(context));
    const { sampler, format, failed } = frozen;
    const server = stack.use(await openEndpointServer({ runtime, port: options.port }));
    const mounted = server.mount({ rollout: 'debug', handler: (request) => model.answer(request) });
    const { defaults, ...settings } = frozen.settings;
    const model: RecordingModel = createRolloutModel({
      ...settings,
      // A minimum number of tokens would prevent the short answers that clients ask for.
      defaults: { ...defaults, minTokens: undefined },
      sampler,
      format,
      modelPath: rolloutModel.name ?? stage.model.modelPath,
      clientSampling: 'respect',
      recordHistory: false,
      keptTokens: keptTokensOfServer,
      // No toolCallSalt: templates may print ids of calls, and repeated debug runs have equal prompts.
      seedFor: (call) => runtime.seedFor('debug', call),
      mounted,
      runtime,
    });
    const sampling = server.mount({ rollout: 'sampler', handler: samplerHandler(sampler) });
    await makeFolder(outputDirectory);
    const removeFile = await writeServedModel(outputDirectory, {
      model: startModel,
      maxModelLen: sampler.maxModelLen,
      policyVersion: sampler.policyVersion,
      samplerURL: sampling.baseURL,
      samplerKey: sampling.apiKey,
      baseURL: mounted.baseURL,
      apiKey: mounted.apiKey,
      pid: process.pid,
    });
    stack.use({ close: removeFile });
    return {
      baseURL: mounted.baseURL,
      apiKey: mounted.apiKey,
      model: model.modelPath,
      folder: startModel,
      engineFailed: failed,
      close: () => stack.close(),
    };
  });
}
