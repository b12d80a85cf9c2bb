/** Chooses the model to train from the models that the server offers. */
import { type Logger, EngineError } from '@trinity-rft/core';
import { capabilitiesAnswer, paths } from '../../protocol/index.js';
import type { Calls } from './calls.js';

export interface BaseModel {
  readonly name: string;
  /** Maximum context length in tokens. Infinite if the server sets no limit. */
  readonly maxContext: number;
  /** True if the server supports sampling from the model. */
  readonly samples: boolean;
}

/** Candidate names of the model to train. The first one that is defined is used. */
export interface WantedModel {
  /** Name stored in the checkpoint that training starts from. */
  readonly recorded: string | undefined;
  /** Name in the user's configuration. */
  readonly set: string | undefined;
  /** The model's id on the Hugging Face Hub. Servers may use it as the model's name. */
  readonly hubId: string | undefined;
}

/**
 * Returns the model to train. If the server offers a single model, and the wanted name comes only
 * from `hubId`, that model is used whatever its name, because SkyRL names models by a local path.
 * Its vocabulary is checked later.
 * @throws EngineError if no model fits; the message lists the server's models
 */
export async function chooseBaseModel(
  calls: Calls,
  { recorded, set, hubId }: WantedModel,
  logger: Logger,
): Promise<BaseModel> {
  const what = 'list its models';
  const { supported_models: listed } = await calls.get(paths.capabilities, capabilitiesAnswer, {
    what,
  });
  const models = listed.flatMap(({ model_name: name, max_context_length: length, capabilities }) =>
    name
      ? [
          {
            name,
            maxContext: length ?? Infinity,
            samples: capabilities?.includes('sampling') ?? true,
          },
        ]
      : [],
  );
  const required = recorded ?? set;
  const wanted = required ?? hubId;
  const named = models.find(({ name }) => name === wanted);
  if (named !== undefined) return named;
  const [only] = models;
  if (only !== undefined && models.length === 1 && required === undefined) {
    if (wanted !== undefined)
      logger.info(`The Tinker server has one model, ${only.name}, which is taken for ${wanted}.`);
    return only;
  }
  const names = models.map(({ name }) => name).join(', ');
  const ownAdvice =
    recorded === undefined
      ? `Set model.tinker.base_model to one of ${names}`
      : `The checkpoint was trained from it: use a server that has it instead of ${names}`;
  const advice = only ? ownAdvice : 'It lists no models: start it with the model to train';
  throw new EngineError(
    `The Tinker server has no model ${wanted ?? '(none was named)'}. ${advice}.`,
    { code: 'TINKER_MODEL' },
  );
}
