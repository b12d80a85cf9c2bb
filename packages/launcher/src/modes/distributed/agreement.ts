/** Finds the settings that must be equal in all processes of a training run. */
import { hash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { toolTemplateFile } from '@trinity-rft/chat/internal';
import type { StageConfig } from '@trinity-rft/config';
import { digestOfFile } from '@trinity-rft/core/engine';
import type { Agreement } from '@trinity-rft/core/store';
import { settingsOf } from '../../assembly/settings.js';

const shared: readonly RegExp[] = [
  /^seed$/,
  /^algorithm\.(?:algorithm_type|repeat_times)$/,
  /^model\.(?:model_path|lora_configs\b.*|quantization|chat_template|m(?:ax|in)_\w+)$/,
  /^buffer\.(?:batch_size|explorer_input\..+)$/,
  /^explorer\.(?:over_rollout\..+|failure_reward)$/,
  /^explorer\.rollout_model\.(?:temperature|top_[pk]|chat_template|m(?:ax|in)_\w+)$/,
  /^synchronizer\.sync_(?:style|method)$/,
];

/**
 * Returns those settings of a stage that all processes must agree on. For files, returns digests of
 * their contents, because their paths differ between machines.
 */
export async function agreementOf(stage: StageConfig): Promise<Agreement> {
  const entries = Object.entries(settingsOf(stage))
    .filter(([key]) => shared.some((pattern) => pattern.test(key)))
    .map(async ([key, value]) => {
      const text = await textOf(key, value);
      return text === undefined ? [] : [[key, text] as const];
    });
  return Object.fromEntries((await Promise.all(entries)).flat());
}

/**
 * Returns the string by which a setting is compared between processes, or undefined if it is not
 * compared.
 */
async function textOf(key: string, value: unknown): Promise<string | undefined> {
  const isPath = key === 'model.model_path' || /^buffer\..+\.path$/.test(key);
  if (!isPath || typeof value !== 'string') return JSON.stringify(value);
  const found = await stat(value).catch(() => undefined);
  if (found?.isFile()) return `a file with the SHA-256 ${short(await digestOfFile(value))}`;
  if (!found) return JSON.stringify(value);
  return key === 'model.model_path' ? modelText(value) : undefined;
}

const modelFiles = [
  'config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
  'generation_config.json',
] as const;

const short = (digest: string): string => digest.slice(0, 16);

/**
 * Returns the string by which a model folder is compared between processes: a digest of the
 * tokenizer and configuration files, of which each process has its own copy. The weights are not
 * compared, because explorers get them from the trainer.
 */
async function modelText(folder: string): Promise<string> {
  const read = (name: string): Promise<string> =>
    readFile(path.join(folder, name), 'utf8').catch(() => '');
  const [forTools, ...files] = await Promise.all([toolTemplateFile, ...modelFiles].map(read));
  // A folder without this file has the digest that earlier versions stored.
  const texts = forTools ? [...files, forTools] : files;
  const digest = hash('sha256', texts.join('\n'), 'hex');
  return `a model whose configuration, tokenizer and chat template have the SHA-256 ${short(digest)}`;
}
