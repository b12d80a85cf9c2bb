/**
 * Extracts the text part of a model that also takes images or audio: its config, and the names of
 * its tensors.
 */
import { textPart } from '@trinity-rft/core/support';

import { modelFamilies } from '../model/config.js';
import { families } from '../model/families.js';
import type { WeightFile, WeightFiles } from './weight-files.js';

/**
 * Returns the `config.json` of the text part, as transformers writes it for the family's text-only
 * class. Returns undefined if the model has no text part of a supported family.
 */
export function textModelJson(json: unknown): Readonly<Record<string, unknown>> | undefined {
  const text = textPart(json);
  const family = modelFamilies.find((known) => known === text?.['model_type']);
  return family && { ...text, architectures: [`${families[family].className}ForCausalLM`] };
}

/**
 * Features of `JSON` that Node supports but TypeScript does not declare: access to the source text
 * of numbers.
 */
interface SourceJson {
  parse(
    text: string,
    revive: (key: string, value: unknown, context: { readonly source: string }) => unknown,
  ): unknown;
  rawJSON(source: string): object;
}

/**
 * Returns the text of {@link textModelJson}'s result. Numbers keep the notation of `configText`,
 * because transformers rejects 30 where it expects 30.0.
 */
export function textConfigText(configText: string): string {
  const json = JSON as unknown as SourceJson;
  const whole = json.parse(configText, (_, value, { source }) =>
    typeof value === 'number' ? json.rawJSON(source) : value,
  );
  return `${JSON.stringify(textModelJson(whole), null, 2)}\n`;
}

/**
 * Matches names of tensors outside the text model: image and audio encoders, and heads for
 * multi-token prediction.
 */
const otherParts =
  /^(model\.)?(visual|vision_tower|vision_embedder|embed_vision|multi_modal_projector|audio_tower|embed_audio|mtp)\./;

/** Part of the names of tensors that belong to a text model inside a larger model. */
const inside = 'language_model.';

const textName = (name: string): string => name.replace(inside, '');

/** Returns the tensors of the text part, under the names that they have in a text-only model. */
export function textTensors(files: WeightFiles): WeightFiles {
  const names = [...files.tensors.keys()];
  if (!names.some((name) => name.includes(inside) || otherParts.test(name))) return files;
  const renamed = new Map<WeightFile, WeightFile>();
  for (const file of new Set(files.tensors.values())) renamed.set(file, renamedFile(file));
  return {
    ...files,
    tensors: new Map(
      [...files.tensors]
        .filter(([name]) => !otherParts.test(name))
        .map(([name, file]) => [textName(name), renamed.get(file)!]),
    ),
  };
}

function renamedFile(source: WeightFile): WeightFile {
  const stored = new Map([...source.tensors.keys()].map((name) => [textName(name), name]));
  const storedName = (name: string): string => stored.get(name) ?? name;
  return {
    file: source.file,
    tensors: new Map([...source.tensors].map(([name, tensor]) => [textName(name), tensor])),
    read: (name, into, start) => source.read(storedName(name), into, start),
    readLevels: (name) => source.readLevels?.(storedName(name)),
    stored: (name) => source.stored?.(storedName(name)),
  };
}
