/** The models that workflows may use besides the trained one. */
import type { AuxiliaryModelConfig, AuxiliarySource, ModelConfig } from '../base/resolved.js';
import type { RunInput } from '../../schema/root.js';
import { isSecretKey } from '../../source/secrets.js';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import { inherit, resolveSection } from '../../schema/resolve-section.js';
import { checkToolChoice, ownLengths } from './inference.js';
import { deriveLengths } from './lengths.js';
import { readModelFolder, type ModelShape } from './model-folder.js';
import { locate } from '../base/paths.js';

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
          `is "${name}", as that of an earlier auxiliary model. Give each a name of its own.`,
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
  /** That of the trained model. */
  readonly engine: string;
}

/**
 * The template is the model's own unless it is set: that of the trained model may be for another
 * family.
 */
function derive(
  context: StageContext,
  section: KeyPath,
  { input, name, modelPath, model, engine }: Parts,
): AuxiliaryModelConfig {
  const own = resolveSection(itemOf(context), input);
  const { chatTemplate } = own;
  if (input.base_url !== null) {
    const source = remoteSource(context, section, input, modelPath);
    // What the service allows is not known here: lengths only bound what is asked for.
    const lengths = {
      maxModelLen: input.max_model_len ?? model.maxModelLen,
      maxPromptTokens: input.max_prompt_tokens ?? model.maxPromptTokens,
      maxResponseTokens: input.max_response_tokens ?? model.maxResponseTokens,
      minResponseTokens: input.min_response_tokens ?? 0,
    };
    return {
      ...inherit(own, model),
      ...lengths,
      name,
      source,
      chatTemplate,
      enableThinking: own.enableThinking,
    };
  }
  if (input.engine_type === 'external') {
    context.report(
      [...section, 'base_url'],
      'is not set, but engine_type is external. Give the address of the API, which ends in /v1.',
    );
  }
  const { path, shape } = findFolder(context, [...section, 'model_path'], modelPath);
  const lengths = deriveLengths(
    context,
    section,
    folderLengths(input, model),
    shape,
    shape !== undefined,
  );
  return {
    ...inherit(own, model),
    ...lengths,
    name,
    source: { kind: 'folder', modelPath: path, engine: engineOf(context, section, input, engine) },
    chatTemplate,
  };
}

const itemOf = (context: StageContext) =>
  context.sections.explorer.unwrap().shape.auxiliary_models.unwrap().element;

/** As the file says, else that of the trained model. */
function engineOf(
  context: StageContext,
  section: KeyPath,
  { engine_type: name }: AuxiliaryInput,
  engine: string,
): string {
  const isChosen = context.isSet(...section, 'engine_type') && Object.hasOwn(context.engines, name);
  return isChosen ? name : engine;
}

/** Both parts set: the whole is their sum, however long texts of the trained model may be. */
function folderLengths(input: AuxiliaryInput, model: ModelConfig): ReturnType<typeof ownLengths> {
  const both =
    input.max_model_len === null &&
    input.max_prompt_tokens !== null &&
    input.max_response_tokens !== null;
  return both ? { ...ownLengths(input, model), maxModelLen: null } : ownLengths(input, model);
}

function findFolder(
  context: StageContext,
  at: KeyPath,
  value: string,
): { readonly path: string; readonly shape: ModelShape | undefined } {
  const location = locate(context, at, value, 'model');
  if (location === undefined) return { path: value, shape: undefined };
  if (!location.isLocal) {
    context.report(
      at,
      `got "${value}", but there is no such folder. Give the folder of a model on this disk, or base_url and api_key of a service.`,
    );
    return { path: value, shape: undefined };
  }
  const read = readModelFolder(context.disk, location.path);
  if (read.kind === 'problem')
    context.report(at, `got "${value}": ${location.path} ${read.message}.`);
  return { path: location.path, shape: read.kind === 'shape' ? read.shape : undefined };
}

function remoteSource(
  context: StageContext,
  section: KeyPath,
  input: AuxiliaryInput,
  modelPath: string,
): AuxiliarySource {
  const address = input.base_url ?? '';
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    context.report(
      [...section, 'base_url'],
      `is no address. Expected one as https://api.openai.com/v1.`,
    );
  } else if (
    url.username !== '' ||
    url.password !== '' ||
    [...url.searchParams.keys()].some((key) => isSecretKey(key))
  ) {
    context.report(
      [...section, 'base_url'],
      'holds a secret. Put it into api_key, as ${oc.env:OPENAI_API_KEY}.',
    );
  }
  return { kind: 'remote', baseUrl: address.replace(/\/+$/, ''), apiKey: input.api_key, modelPath };
}
