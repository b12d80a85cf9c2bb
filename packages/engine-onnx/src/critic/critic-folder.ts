/**
 * Opens model folders as critics, in Hugging Face's format for token classification with one label.
 * verl saves critics in the same format.
 */
import { loadWeights, readModelFiles, type ModelFolder } from '../storage/model-folder.js';
import type { ModelFamily } from '../model/config.js';
import { families } from '../model/families.js';
import { valueHeadNames } from '../model/parameters.js';

/**
 * Opens any folder with the body of a model. Keeps a head with one label, including the head of a
 * reward model (which has no bias). Otherwise adds a head of zeros: every value then starts at 0,
 * and no seed is needed.
 * @throws CheckpointError when the folder cannot be used
 */
export async function openCriticFolder(directory: string): Promise<ModelFolder> {
  const { config: found, configText, companions } = await readModelFiles(directory);
  const config = { ...found, head: 'value' } as const;
  const weights = await loadWeights(directory, config, Object.values(valueHeadNames));
  return { config, configText: criticConfigText(configText, config.family), companions, weights };
}

/**
 * Returns the text of a critic's `config.json`. Sets the class, a single label and a dropout of 0,
 * because transformers' default is 0.1. All other settings are unchanged. The class is that of the
 * body where transformers has no token classification of the family: it reads all but the head.
 */
export function criticConfigText(configText: string, family: ModelFamily): string {
  const { className, bodyClass = `${className}ForTokenClassification` } = families[family];
  const keys = {
    architectures: `["${bodyClass}"]`,
    id2label: '{ "0": "LABEL_0" }',
    label2id: '{ "LABEL_0": 0 }',
    classifier_dropout: '0.0',
  };
  return Object.entries(keys).reduce((text, [key, value]) => withKey(text, key, value), configText);
}

/** Sets a key in a JSON text. An old value of the key must contain no nested brackets or braces. */
function withKey(text: string, key: string, value: string): string {
  const pair = `"${key}": ${value}`;
  const known = new RegExp(String.raw`"${key}"\s*:\s*(\[[^\]]*\]|\{[^}]*\}|[^,{}[\]\s]+)`);
  return known.test(text) ? text.replace(known, pair) : text.replace('{', `{\n  ${pair},`);
}
