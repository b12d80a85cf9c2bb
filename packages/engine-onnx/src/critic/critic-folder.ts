/**
 * Opens model folders as critics. A critic's folder has Hugging Face's format for token
 * classification with one label, which verl also uses.
 */
import { loadWeights, readModelFiles, type ModelFolder } from '../storage/model-folder.js';
import type { ModelFamily } from '../model/config.js';
import { families } from '../model/families.js';
import { valueHeadNames } from '../model/parameters.js';

/**
 * Opens a model folder as a critic. If the model's head has a single label, keeps that head,
 * including the head of a reward model (which has no bias). Otherwise adds a head of zeros, so that
 * every value starts at 0 and no seed is needed.
 * @throws CheckpointError when the folder cannot be used
 */
export async function openCriticFolder(directory: string): Promise<ModelFolder> {
  const { config: found, configText, companions } = await readModelFiles(directory);
  const config = { ...found, head: 'value' } as const;
  const weights = await loadWeights(directory, config, Object.values(valueHeadNames));
  return { config, configText: criticConfigText(configText, config.family), companions, weights };
}

/**
 * Returns the text of a critic's `config.json`. Sets the architecture, a single label, and a
 * classifier dropout of 0, because transformers' default is 0.1. Keeps all other settings.
 * If transformers has no token classification for the family, the architecture is the body's class,
 * with which transformers reads all weights but the head.
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
