/** Resolves the models that workflows can use in addition to the trained model. */
import type { AuxiliaryModelConfig, AuxiliarySource, ModelConfig } from '../base/resolved.js';
import type { RunInput } from '../../schema/root.js';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import { inherit, resolveSection } from '../../schema/resolve-section.js';
import { checkToolChoice, ownLengths } from './inference.js';
import { deriveLengths } from './lengths.js';
import { readModelFolder, type ModelShape } from './model-folder.js';
import { apiAddress, locateModel } from '../base/paths.js';

type AuxiliaryInput = RunInput['explorer']['auxiliary_models'][number];

export function deriveAuxiliaryModels(
  context: StageContext,
  model: ModelConfig,
  engine: string,
): readonly AuxiliaryModelConfig[] {
  const names = new Set<string>();
  return context.input.explorer.auxiliary_models.flatMap(
    (input, index): readonly AuxiliaryModelConfig[] => {
      const section: KeyPath = ['explorer', 'auxiliary_models', index];
      const { model_path: modelPath } = input;
      if (modelPath === null || modelPath === '') {
        context.report(
          [...section, 'model_path'],
          'is not set. Give the folder of a model, or with base_url the name of the model there.',
        );
        return [];
      }
      const name = input.name ?? modelPath;
      if (names.has(name)) {
        context.report(
          [...section, 'name'],
          `got "${name}", which an earlier auxiliary model has already. Give each its own name.`,
        );
      }
      names.add(name);
      checkToolChoice(context, section, input);
      return [derive(context, section, { input, name, modelPath, model, engine })];
    },
  );
}

interface Parts {
  readonly input: AuxiliaryInput;
  readonly name: string;
  readonly modelPath: string;
  readonly model: ModelConfig;
  /** Name of the engine of the trained model. */
  readonly engine: string;
}

/**
 * Resolves one model. If no template is set, the model uses its own template, because the trained
 * model may belong to another family.
 */
function derive(context: StageContext, section: KeyPath, parts: Parts): AuxiliaryModelConfig {
  const { input, name, modelPath, model } = parts;
  const own = resolveSection(itemOf(context), input);
  const { chatTemplate } = own;
  const inherited = { ...inherit(own, model), name, chatTemplate };
  if (input.base_url !== null)
    return {
      ...inherited,
      source: remoteSource(context, section, input, modelPath),
      // The limits of the service are unknown, so lengths only limit requests.
      minResponseTokens: own.minResponseTokens ?? 0,
      enableThinking: own.enableThinking,
    };
  if (input.engine_type === 'external')
    context.report(
      [...section, 'base_url'],
      'is not set, but engine_type is external. Give the address of the API, which ends in /v1.',
    );
  const { path, shape, isFound } = findFolder(context, [...section, 'model_path'], modelPath);
  const given = folderLengths(input, model);
  return {
    ...inherited,
    ...deriveLengths(context, { section, given, shape, mayReport: isFound, wholeDecides: true }),
    source: { kind: 'folder', modelPath: path, engine: engineOf(context, section, parts) },
  };
}

const itemOf = (context: StageContext) =>
  context.sections.explorer.unwrap().shape.auxiliary_models.unwrap().element;

/** Returns the engine that the file names, otherwise the engine of the trained model. */
function engineOf(
  context: StageContext,
  section: KeyPath,
  { input: { engine_type: name }, engine }: Parts,
): string {
  const isChosen = context.isSet(...section, 'engine_type') && Object.hasOwn(context.engines, name);
  return isChosen ? name : engine;
}

/**
 * Returns the lengths that the file sets for a model in a folder. If it sets only the lengths of
 * prompt and response, the maximum length is null, because it is derived as their sum.
 */
function folderLengths(input: AuxiliaryInput, model: ModelConfig): ReturnType<typeof ownLengths> {
  const { max_model_len: whole, max_prompt_tokens: prompt, max_response_tokens: response } = input;
  const isSum = whole === null && prompt !== null && response !== null;
  return { ...ownLengths(input, model), ...(isSum && { maxModelLen: null }) };
}

interface FoundModel {
  /** Absolute path of a folder or file, or a hub id. */
  readonly path: string;
  /**
   * Shape of the model; undefined for a model on the hub, and for a model that was not found or
   * cannot be used.
   */
  readonly shape: ModelShape | undefined;
  readonly isFound: boolean;
}

function findFolder(context: StageContext, at: KeyPath, value: string): FoundModel {
  const location = locateModel(context, at, value);
  if (location === undefined) return { path: value, shape: undefined, isFound: false };
  if (!location.isLocal) return { path: value, shape: undefined, isFound: true };
  const read = readModelFolder(context.disk, location.path);
  if (read.kind === 'problem')
    context.report(at, `got "${value}": ${location.path} ${read.message}.`);
  const shape = read.kind === 'shape' ? read.shape : undefined;
  return { path: location.path, shape, isFound: shape !== undefined };
}

function remoteSource(
  context: StageContext,
  section: KeyPath,
  input: AuxiliaryInput,
  modelPath: string,
): AuxiliarySource {
  const baseUrl = apiAddress(context, [...section, 'base_url'], input.base_url ?? '');
  return { kind: 'remote', baseUrl, apiKey: input.api_key, modelPath };
}
