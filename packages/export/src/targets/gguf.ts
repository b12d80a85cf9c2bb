/** Writes a GGUF file for llama.cpp, and the Modelfile for Ollama. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readTokenizerFiles } from '@trinity-rft/chat';
import {
  saveGgufAdapter,
  saveGgufModel,
  type GgufFileType,
  type SaveGgufAdapterOptions,
  type SavedGguf,
  type WeightSource,
} from '@trinity-rft/chat/gguf';
import { parseStoredJson } from '@trinity-rft/core/support';
import { openMergedWeights, openWeights, type StoredWeights } from '@trinity-rft/engine-onnx';
import { licenseOf } from './license.js';
import { modelfileOf } from '../ollama/modelfile.js';
import { fileNameOf, ollamaNameOf } from './model-name.js';
import { roundedNotes } from './rounded.js';
import type { TargetInput, Written } from './target.js';

export async function writeGguf(input: TargetInput): Promise<Written> {
  const { adapter, folder, name, numbers } = input;
  const file = `${fileNameOf(name)}-${adapter === undefined ? numbers.name : 'lora'}.gguf`;
  const target = path.join(folder, file);
  const { notes } = await (adapter === undefined
    ? saveModel(input, target)
    : saveAdapter(input, adapter, target));
  return { file, notes };
}

type Json = Readonly<Record<string, unknown>>;

async function jsonOf(folder: string, name: string): Promise<Json> {
  const file = path.join(folder, name);
  return parseStoredJson(file, await readFile(file, 'utf8'), 'MODEL_CONFIG_INVALID') as Json;
}

/** Returns weights whose reads throw the reason of `signal` once it is aborted. */
export const stoppable = (
  weights: Pick<StoredWeights, keyof WeightSource>,
  signal: AbortSignal | undefined,
): WeightSource => ({
  tensors: weights.tensors,
  read: async (name) => {
    signal?.throwIfAborted();
    return weights.read(name);
  },
  async *readParts(name) {
    for await (const part of weights.readParts(name)) {
      signal?.throwIfAborted();
      yield part;
    }
  },
});

async function saveModel(input: TargetInput, target: string): Promise<SavedGguf> {
  const { from, name, numbers, chat, generationConfig, facts, signal } = input;
  const chatTemplate = chat.chat_template;
  const files = await readTokenizerFiles(from);
  const weights = await openMergedWeights(from);
  try {
    const saved = await saveGgufModel({
      config: await jsonOf(from, 'config.json'),
      tokenizer: {
        ...files,
        generationConfig,
        ...(chatTemplate !== undefined && { chatTemplate }),
      },
      weights: stoppable(weights, signal),
      target,
      type: numbers.name as GgufFileType,
      name,
      license: (await licenseOf(facts?.base)).id,
    });
    const { beside } = weights;
    return beside ? { ...saved, notes: [...saved.notes, ...roundedNotes(beside)] } : saved;
  } finally {
    await weights.close();
  }
}

async function saveAdapter(
  { from, name, numbers }: TargetInput,
  adapter: string,
  target: string,
): Promise<SavedGguf> {
  const weights = await openWeights(path.join(adapter, 'adapter_model.safetensors'));
  try {
    return await saveGgufAdapter({
      adapter: await jsonOf(adapter, 'adapter_config.json'),
      config: await jsonOf(from, 'config.json'),
      weights,
      target,
      type: numbers.name as NonNullable<SaveGgufAdapterOptions['type']>,
      name,
    });
  } finally {
    await weights.close();
  }
}

export async function writeOllama(input: TargetInput): Promise<Written> {
  const { folder, format, chat, contextTokens, name } = input;
  const usesTools = (chat.tool_call_parser ?? chat.tool_prompt) !== undefined;
  const { file, notes } = await writeGguf(input);
  const { text, template } = modelfileOf({ file, format, usesTools, contextTokens });
  await writeFile(path.join(folder, 'Modelfile'), text);
  const why = usesTools
    ? 'Ollama writes tool definitions in another form than training did'
    : 'No Ollama template is known to render prompts as this model was trained with';
  const raw = `${why}, so the Modelfile passes prompts as they are: render them as chat.mjs does, and send them with raw: true.`;
  const plain = `The Modelfile has Ollama's template "${template}", which renders plain conversations as training did; it has no place for tools.`;
  return {
    file,
    notes: [
      ...notes,
      template === undefined ? raw : plain,
      `To use it: ollama create ${ollamaNameOf(name)} -f Modelfile`,
    ],
  };
}
