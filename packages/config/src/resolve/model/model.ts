/** Resolves the trained model: its folder, lengths, template and sampling settings. */
import type { AuxiliaryModelConfig, ModelConfig, RolloutModelConfig } from '../base/resolved.js';
import type { KeyPath } from '../../source/node.js';
import { addressProblem } from '@trinity-rft/core/support';
import { deriveAuxiliaryModels } from './auxiliary-models.js';
import { weightsOf } from './base-weights.js';
import { defaultEngineName } from '../../schema/engines.js';
import type { StageContext } from '../base/context.js';
import { inherit, resolveSection } from '../../schema/resolve-section.js';
import { checkToolChoice, ownLengths } from './inference.js';
import { deriveLengths, type Lengths } from './lengths.js';
import { deriveLora } from './lora.js';
import { readModelFolder, type ModelShape } from './model-folder.js';
import { locateModel, reportAddress, type Location } from '../base/paths.js';

export interface DerivedModel {
  readonly model: ModelConfig;
  readonly rolloutModel: RolloutModelConfig;
  readonly auxiliaryModels: readonly AuxiliaryModelConfig[];
}

/**
 * Resolves the trained model of a stage.
 * @param previous model of the last stage before that trains
 */
export function deriveModel(
  context: StageContext,
  engine: string,
  previous: ModelConfig | undefined,
): DerivedModel {
  const { model: input } = context.input;
  const origin = context.stageSets('model', 'model_path') ? undefined : previous;
  const location = origin ? locationOf(origin) : findModel(context);
  const shape =
    location?.isLocal === true
      ? readShape(context, { folder: location.path, engine, isInherited: origin !== undefined })
      : undefined;
  const given: Lengths = {
    maxModelLen: input.max_model_len,
    maxPromptTokens: input.max_prompt_tokens,
    maxResponseTokens: input.max_response_tokens,
    minResponseTokens: input.min_response_tokens,
  };
  const lengths = deriveLengths(context, {
    section: ['model'],
    given,
    shape,
    mayReport: location?.isLocal === false || shape !== undefined,
  });
  const own = {
    ...resolveSection(context.sections.model, input),
    modelPath: location?.path ?? input.model_path,
    isLocal: location?.isLocal ?? false,
    hubId: location?.isLocal === false ? location.path : undefined,
    fromPreviousStage: origin !== undefined,
    chatTemplate: deriveTemplate(context),
    ...lengths,
    criticModelPath: deriveCriticPath(context, { shape, ...lengths }),
    lora: deriveLora(context, shape),
  };
  checkTinkerAddress(context);
  const canQuantize = context.engines[engine]?.capabilities.quantization === true;
  const base = weightsOf(own, previous, { disk: context.disk, canQuantize });
  const model = { ...own, base };
  return {
    model,
    rolloutModel: deriveRolloutModel(context, model),
    auxiliaryModels: deriveAuxiliaryModels(context, model, engine),
  };
}

function checkTinkerAddress({ input, report }: StageContext): void {
  const { base_url: address } = input.model.tinker;
  if (address === null) return;
  const problem = addressProblem(address, 'the environment variable TINKER_API_KEY');
  if (problem !== undefined) report(['model', 'tinker', 'base_url'], problem);
}

/** Returns the location of a resolved model, or undefined if the model was not found. */
const locationOf = ({ modelPath: path, isLocal, hubId }: ModelConfig): Location | undefined =>
  isLocal || hubId !== undefined ? { path, isLocal } : undefined;

function findModel(context: StageContext): Location | undefined {
  const path: KeyPath = ['model', 'model_path'];
  const value = context.input.model.model_path;
  if (value !== '') return locateModel(context, path, value);
  context.report(
    path,
    'is not set. Give the folder of a Hugging Face model, a GGUF file, or the id of a model on the hub.',
  );
  return undefined;
}

interface FoundModel {
  readonly folder: string;
  readonly engine: string;
  /**
   * True if the model comes from an earlier stage. Its problems are reported at that stage, not
   * again here.
   */
  readonly isInherited: boolean;
}

/**
 * Reads the shape of a model. Reports a multimodal model unless the embedded engine, which uses
 * only the text part, both trains and samples.
 */
function readShape(context: StageContext, found: FoundModel): ModelShape | undefined {
  const { folder, engine, isInherited } = found;
  const given = isInherited ? folder : context.input.model.model_path;
  const refuse = (why: string): void =>
    context.report(['model', 'model_path'], `got "${given}"${why}`);
  const read = readModelFolder(context.disk, folder);
  if (read.kind === 'problem') {
    if (!isInherited) refuse(`: ${folder} ${read.message}.`);
    return undefined;
  }
  const { base_url: servers } = context.input.explorer.rollout_model;
  const isEmbedded = engine === defaultEngineName(context.engines) && (servers ?? []).length === 0;
  if (read.otherInput !== undefined && !isEmbedded)
    refuse(
      `, a model that takes more than text (${read.otherInput} in config.json): only the embedded engine takes its text part alone. Give a model of text alone.`,
    );
  return read.shape;
}

/** Facts about the policy. A critic must be able to read the same input. */
interface CriticInput extends Pick<ModelConfig, 'maxModelLen'> {
  readonly shape: ModelShape | undefined;
}

function deriveCriticPath(context: StageContext, input: CriticInput): string | undefined {
  const { critic_model_path: given } = context.input.model;
  if (given === '') return undefined;
  const path: KeyPath = ['model', 'critic_model_path'];
  const location = locateModel(context, path, given);
  if (location?.isLocal !== true) return location?.path;
  const read = readModelFolder(context.disk, location.path);
  if (read.kind === 'problem')
    context.report(path, `got "${given}": ${location.path} ${read.message}.`);
  else
    for (const problem of criticProblems(read.shape, input))
      context.report(path, `got "${given}", which ${problem}. Choose a model of the same family.`);
  return location.path;
}

/** Returns the problems of a critic, which must be able to read the token ids of the policy. */
const criticProblems = (
  critic: ModelShape,
  { shape, maxModelLen }: CriticInput,
): readonly string[] => [
  ...(shape !== undefined && critic.vocabSize < shape.vocabSize
    ? [`knows ${critic.vocabSize} token ids, and model.model_path has ${shape.vocabSize}`]
    : []),
  ...(critic.maxPositions !== undefined && critic.maxPositions < maxModelLen
    ? [`reads ${critic.maxPositions} tokens at most, and max_model_len is ${maxModelLen}`]
    : []),
];

/** Returns the chat template. A file takes precedence over inline text, as in Trinity-RFT. */
function deriveTemplate(context: StageContext): string | undefined {
  const { chat_template_path: file, custom_chat_template: inline } = context.input.model;
  if (file === null) return inline ?? undefined;
  if (inline !== null)
    context.warn(
      ['model', 'custom_chat_template'],
      'ignored. chat_template_path is set too, and takes precedence.',
    );
  if (reportAddress(context, ['model', 'chat_template_path'], file)) return undefined;
  const full = context.disk.resolve(file);
  const text = context.disk.kind(full) === 'file' ? context.disk.readText(full) : undefined;
  if (text === undefined)
    context.report(
      ['model', 'chat_template_path'],
      `got "${file}", but ${full} is not a readable text file. Relative paths start at the working directory.`,
    );
  return text;
}

function deriveRolloutModel(context: StageContext, model: ModelConfig): RolloutModelConfig {
  const input = context.input.explorer.rollout_model;
  const section: KeyPath = ['explorer', 'rollout_model'];
  const keys = ['max_model_len', 'max_prompt_tokens', 'max_response_tokens', 'min_response_tokens'];
  const setsLength = keys.some((key) => context.isSet(...section, key));
  const { maxModelLen, maxPromptTokens, maxResponseTokens, minResponseTokens } = setsLength
    ? deriveLengths(context, {
        section,
        given: ownLengths(input, model),
        shape: undefined,
        trained: model.maxModelLen,
      })
    : model;
  checkToolChoice(context, section, input);
  const own = resolveSection(context.sections.explorer.unwrap().shape.rollout_model, input);
  return {
    ...inherit(own, model),
    maxModelLen,
    maxPromptTokens,
    maxResponseTokens,
    minResponseTokens,
  };
}
