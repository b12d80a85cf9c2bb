/**
 * Writes `chat.ts` of an export, a program that asks the model one question with the chat template
 * and parser of training.
 */
import type { FormatName } from './format/formats.js';

/**
 * Returns a short program to execute with `node chat.ts "..."`. Its first line names the packages
 * to install.
 */
export function chatProgram(
  format: FormatName,
  {
    file,
    name,
    dtype,
    toolCallParser,
  }: {
    readonly file: string;
    readonly name: string;
    readonly dtype: string;
    readonly toolCallParser: string | undefined;
  },
): string {
  const programs: Readonly<Record<FormatName, string>> = {
    gguf: local(file, 'npm install @trinity-rft/local node-llama-cpp'),
    hf: local('.', 'npm install @trinity-rft/local'),
    ollama: ollama(file, name, toolCallParser),
    transformersjs: transformersJs(dtype, toolCallParser),
  };
  return programs[format];
}

/** Returns the text as a literal of the program. */
const quoted = (text: string): string => JSON.stringify(text);

const local = (model: string, install: string): string => `// ${install}
import { fileURLToPath } from 'node:url';
import { loadModel } from '@trinity-rft/local';

const model = await loadModel(fileURLToPath(new URL(${quoted(model)}, import.meta.url)));
const question = process.argv[2] ?? 'Hello';
// Tools: chat(messages, { tools }); the calls are in answer.toolCalls.
const messages = [{ role: 'user', content: question }];
const answer = await model.chat(messages, { temperature: 0 });
console.log(answer.text);
await model.close();
`;

const parserOf = (parser: string | undefined): string =>
  parser === undefined ? '' : `, toolCallParser: ${quoted(parser)}`;

const ollama = (
  file: string,
  name: string,
  parser: string | undefined,
): string => `// npm install @trinity-rft/chat; ollama create ${name} -f Modelfile
import { fileURLToPath } from 'node:url';
import { createChatFormat, loadTokenizer } from '@trinity-rft/chat';

const tokenizer = await loadTokenizer(fileURLToPath(new URL(${quoted(file)}, import.meta.url)));
const format = createChatFormat({ tokenizer${parserOf(parser)} });
const messages = [{ role: 'user', content: process.argv[2] ?? 'Hello' }] as const;
// Tools: render({ messages, tools }) and readTurn(..., { tools }), whose result has toolCalls.
const prompt = format.render({ messages });
const body = JSON.stringify({ model: ${quoted(name)}, prompt, raw: true, stream: false });
const reply = await fetch('http://127.0.0.1:11434/api/generate', { method: 'POST', body });
const { response } = (await reply.json()) as { response: string };
console.log(format.readTurn(format.encode(response), { tools: false }).text);
`;

const transformersJs = (
  dtype: string,
  parser: string | undefined,
): string => `// npm install @huggingface/transformers @trinity-rft/chat
import { fileURLToPath } from 'node:url';
import { AutoModelForCausalLM, AutoTokenizer } from '@huggingface/transformers';
import { createChatFormat, loadTokenizer } from '@trinity-rft/chat';

const folder = fileURLToPath(new URL('.', import.meta.url));
const tokenizer = await AutoTokenizer.from_pretrained(folder);
const model = await AutoModelForCausalLM.from_pretrained(folder, { dtype: ${quoted(dtype)} });
const messages = [{ role: 'user', content: process.argv[2] ?? 'Hello' }];
// Tools: apply_chat_template(messages, { tools, ... }) and readTurn(ids, { tools }), whose result has toolCalls.
const inputs = tokenizer.apply_chat_template(messages, { add_generation_prompt: true, return_dict: true });
const output = await model.generate({ ...inputs, max_new_tokens: 256 });
const ids = Int32Array.from(output.data.slice(inputs.input_ids.data.length), Number);
const format = createChatFormat({ tokenizer: await loadTokenizer(folder)${parserOf(parser)} });
console.log(format.readTurn(ids, { tools: false }).text);
`;
