/** Reads the tokenizer files of a Hugging Face model folder or a GGUF file, and writes them. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CheckpointError } from '@trinity-rft/core';
import { readStored } from '@trinity-rft/core/engine';
import { parseStoredJson } from '@trinity-rft/core/support';
import { isGguf, openGgufModel } from '../gguf/index.js';
import { isObject, type JsonObject } from '../json/object.js';

/** Contents of the tokenizer files. */
export interface TokenizerFiles {
  /** Content of `tokenizer.json`. */
  readonly tokenizer: JsonObject;
  /** Content of `tokenizer_config.json`, without the chat template if that is a separate file. */
  readonly tokenizerConfig: JsonObject;
  /** Content of `generation_config.json`. */
  readonly generationConfig?: JsonObject;
  /**
   * Content of `chat_template.jinja`, which takes precedence over `chat_template` in
   * `tokenizer_config.json`.
   */
  readonly chatTemplate?: string;
}

const names = {
  tokenizer: 'tokenizer.json',
  tokenizerConfig: 'tokenizer_config.json',
  generationConfig: 'generation_config.json',
  chatTemplate: 'chat_template.jinja',
} as const;

/** File in which transformers 5 saves a separate template for requests with tools. */
export const toolTemplateFile = 'additional_chat_templates/tool_use.jinja';

/** Returns the value of `chat_template` in tokenizer_config.json for a model with two templates. */
export const templateList = (template: string, forTools: string): readonly JsonObject[] => [
  { name: 'default', template },
  { name: 'tool_use', template: forTools },
];

/**
 * Reads the tokenizer files of a model folder. A GGUF file is read as the folder of the same model.
 * @throws CheckpointError when `tokenizer.json` is missing or a file is not valid
 */
export async function readTokenizerFiles(location: string): Promise<TokenizerFiles> {
  if (!isGguf(location)) return readFiles(location, (name) => readText(join(location, name)));
  const model = openGgufModel(location);
  try {
    return await readFiles(location, (name) => Promise.resolve(model.text(name)));
  } finally {
    model.close();
  }
}

async function readFiles(
  folder: string,
  text: (name: string) => Promise<string | undefined>,
): Promise<TokenizerFiles> {
  const json = async (name: string): Promise<JsonObject | undefined> =>
    parseJson(join(folder, name), await text(name));
  const tokenizer = await json(names.tokenizer);
  if (!tokenizer) {
    throw new CheckpointError(
      `There is no ${names.tokenizer} in ${folder}. Expected a Hugging Face model folder with a "fast" tokenizer.`,
      { code: 'TOKENIZER_MISSING' },
    );
  }
  const chatTemplate = await text(names.chatTemplate);
  const tokenizerConfig = (await json(names.tokenizerConfig)) ?? {};
  const { chat_template: copy, ...config } = tokenizerConfig;
  const generationConfig = await json(names.generationConfig);
  const forTools = await text(toolTemplateFile);
  const template = chatTemplate ?? copy;
  if (forTools !== undefined && typeof template === 'string') {
    const chat_template = templateList(template, forTools);
    return { tokenizer, tokenizerConfig: { ...config, chat_template }, generationConfig };
  }
  return {
    tokenizer,
    tokenizerConfig: chatTemplate === undefined ? tokenizerConfig : config,
    generationConfig,
    chatTemplate,
  };
}

/** Writes the files into `folder`, which is created if necessary. */
export async function writeTokenizerFiles(folder: string, files: TokenizerFiles): Promise<void> {
  await mkdir(folder, { recursive: true });
  const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
  const json = (value: JsonObject): string => `${JSON.stringify(value, null, 2)}\n`;
  await write(names.tokenizer, json(files.tokenizer));
  const { tokenizerConfig, generationConfig, chatTemplate } = files;
  // Both files get the template, because transformers.js only reads the template in
  // tokenizer_config.json.
  const template = chatTemplate === undefined ? {} : { chat_template: chatTemplate };
  await write(names.tokenizerConfig, json({ ...tokenizerConfig, ...template }));
  if (generationConfig) await write(names.generationConfig, json(generationConfig));
  if (chatTemplate !== undefined) await write(names.chatTemplate, chatTemplate);
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return (await readStored(path))?.toString();
  } catch (cause) {
    if (cause instanceof CheckpointError) throw cause;
    throw new CheckpointError(`Cannot read ${path}.`, { code: 'TOKENIZER_UNREADABLE', cause });
  }
}

function parseJson(path: string, text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  const value = parseStoredJson(path, text, 'TOKENIZER_DAMAGED');
  if (!isObject(value)) {
    throw new CheckpointError(
      `${path} is not a JSON object. Copy the file again from the original model.`,
      { code: 'TOKENIZER_DAMAGED' },
    );
  }
  return value;
}
