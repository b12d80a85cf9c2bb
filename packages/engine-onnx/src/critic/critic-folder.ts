/**
 * Model folders as critics: Hugging Face's token classification with one label, as verl trains and
 * saves critics.
 */
import { loadWeights, readModelFiles, type ModelFolder } from '../storage/model-folder.js';
import type { ModelFamily } from '../model/config.js';
import { families } from '../model/families.js';
import { valueHeadNames } from '../model/parameters.js';

/**
 * Opens any folder with the body of a model. A head with one label is kept, including the head of a
 * reward model (which has no bias); otherwise a new head of zeros is made, so that every value
 * starts at 0 and no seed is needed.
 * @throws CheckpointError when the folder cannot be used
 */
export async function openCriticFolder(directory: string): Promise<ModelFolder> {
  const { config: found, configText, companions } = await readModelFiles(directory);
  const config = { ...found, head: 'value' } as const;
  const weights = await loadWeights(directory, config, Object.values(valueHeadNames));
  return { config, configText: criticConfigText(configText, config.family), companions, weights };
}

/**
 * `config.json` of a critic: sets its class, its one label and no dropout, which transformers would
 * otherwise apply at 0.1. The rest of the text is unchanged.
 */
export function criticConfigText(configText: string, family: ModelFamily): string {
  const keys = {
    architectures: `["${families[family].className}ForTokenClassification"]`,
    id2label: '{ "0": "LABEL_0" }',
    label2id: '{ "LABEL_0": 0 }',
    classifier_dropout: '0.0',
  };
  return Object.entries(keys).reduce((text, [key, value]) => withKey(text, key, value), configText);
}

/** Sets a key whose value contains no nested brackets. */
function withKey(text: string, key: string, value: string): string {
  const pair = `"${key}": ${value}`;
  const known = new RegExp(String.raw`"${key}"\s*:\s*(\[[^\]]*\]|\{[^}]*\}|[^,{}[\]\s]+)`);
  return known.test(text) ? text.replace(known, pair) : text.replace('{', `{\n  ${pair},`);
}
