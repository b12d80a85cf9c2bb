/** A GGUF file for llama.cpp, and the Modelfile with which Ollama takes it. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { saveGgufAdapter, saveGgufModel } from '@trinity-rft/chat/gguf';
import { modelfileOf } from '../ollama/modelfile.js';
import type { TargetInput, Written } from './target.js';

export async function writeGguf(input: TargetInput): Promise<Written> {
  const { adapter, folder, from, name, numbers } = input;
  const file = adapter === undefined ? `${name}-${numbers.name}.gguf` : `${name}-lora.gguf`;
  const target = path.join(folder, file);
  const { notes } =
    adapter === undefined
      ? await saveGgufModel({ from, target, type: numbers.name, name })
      : await saveGgufAdapter({ adapter, base: from, target, name });
  return { file, notes };
}

export async function writeOllama(input: TargetInput): Promise<Written> {
  const { folder, format, usesTools, contextTokens, name } = input;
  const { file, notes } = await writeGguf(input);
  const { text, template } = modelfileOf({ file, format, usesTools, contextTokens });
  await writeFile(path.join(folder, 'Modelfile'), text);
  const raw = usesTools
    ? 'Ollama writes tool definitions in another form than training did, so the Modelfile passes prompts as they are. Render them as chat.ts does, and send them with raw: true.'
    : 'No Ollama template is known to render prompts as this model was trained with, so the Modelfile passes them as they are. Render them as chat.ts does, and send them with raw: true.';
  const plain = `The Modelfile has Ollama's template "${template}", which renders plain conversations as training did. Tools are left out by it.`;
  return {
    file,
    notes: [...notes, template === undefined ? raw : plain, `To use it: ollama create ${name} -f Modelfile`],
  };
}
