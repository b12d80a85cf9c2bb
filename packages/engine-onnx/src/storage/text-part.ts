/** The text part of a model that also takes images or sounds: its config, and the names of its tensors. */
import { textPart } from '@trinity-rft/core/support';

import { modelFamilies } from '../model/config.js';
import { families } from '../model/families.js';
import type { WeightFile, WeightFiles } from './weight-files.js';

/**
 * `config.json` of the text part, as transformers writes it for the class that takes text alone.
 * Undefined if the model has no such part of a supported family.
 */
export function textModelJson(json: unknown): Readonly<Record<string, unknown>> | undefined {
  const text = textPart(json);
  const family = modelFamilies.find((known) => known === text?.['model_type']);
  return family && { ...text, architectures: [`${families[family].className}ForCausalLM`] };
}

/** Names of tensors outside the text model: image and audio encoders, heads for multi-token prediction. */
const otherParts =
  /^(model\.)?(visual|vision_tower|vision_embedder|multi_modal_projector|audio_tower|mtp)\./;

/** The prefix of a text model inside another. */
const inside = 'language_model.';

const textName = (name: string): string => name.replace(inside, '');

/** The tensors of the text part, under the names of a model that takes text alone. */
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
    read: (name, into) => source.read(storedName(name), into),
    readLevels: (name) => source.readLevels?.(storedName(name)),
  };
}
