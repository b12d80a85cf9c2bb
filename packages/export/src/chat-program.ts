/**
 * Generates `chat.mjs`, a program in the export that sends one prompt to the model with the chat
 * settings of training.
 */
import { chatFormatOptions, type ChatSettings } from '@trinity-rft/local';
import { peerInstall } from '@trinity-rft/core/support';
import type { FormatName } from './format/formats.js';
import { ollamaNameOf } from './targets/model-name.js';

/**
 * Returns the source text of `chat.mjs`, which is executed with `node chat.mjs "..."`. Its first
 * line names the packages to install.
 */
export function chatProgram(
  format: FormatName,
  {
    file,
    name,
    dtype,
    chat,
  }: {
    readonly file: string;
    readonly name: string;
    readonly dtype: string;
    readonly chat: ChatSettings;
  },
): string {
  const programs: Readonly<Record<FormatName, string>> = {
    gguf: local(file, peerInstall('@trinity-rft/local node-llama-cpp')),
    hf: local('.', 'npm install @trinity-rft/local'),
    ollama: ollama(file, ollamaNameOf(name), settingsOf(chat)),
    transformersjs: transformersJs(dtype, settingsOf(chat)),
  };
  return programs[format];
}

/** Packages that `chat.mjs` needs and that no package of ours installs. */
export const chatPeers: Readonly<Partial<Record<FormatName, string>>> = {
  gguf: 'node-llama-cpp',
  transformersjs: '@huggingface/transformers',
};

/** Returns the string as a JavaScript literal. */
const quoted = (text: string): string => JSON.stringify(text);

const local = (model: string, install: string): string => `// ${install}
import { fileURLToPath } from 'node:url';
import { loadModel } from '@trinity-rft/local';

const location = fileURLToPath(new URL(${quoted(model)}, import.meta.url));
const model = await loadModel(location).catch(({ message, cause }) => {
  console.error(message);
  if (cause) console.error('Cause:', cause.message ?? cause);
  process.exit(2);
});
const question = process.argv[2] ?? 'Hello';
// Tools: chat(messages, { tools }); the calls are in answer.toolCalls.
const messages = [{ role: 'user', content: question }];
const answer = await model.chat(messages, { temperature: 0 });
console.log(answer.text);
await model.close();
`;

/**
 * Returns the options of `createChatFormat` as source text. Leaves out the chat template, which the
 * export contains as a file.
 */
function settingsOf(chat: ChatSettings): string {
  const { chatTemplate: _, ...options } = chatFormatOptions(chat);
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return given.map(([name, value]) => `, ${name}: ${JSON.stringify(value)}`).join('');
}

const ollama = (
  file: string,
  name: string,
  settings: string,
): string => `// npm install @trinity-rft/chat; ollama create ${name} -f Modelfile
import { fileURLToPath } from 'node:url';
import { createChatFormat, loadTokenizer } from '@trinity-rft/chat';

const tokenizer = await loadTokenizer(fileURLToPath(new URL(${quoted(file)}, import.meta.url)));
const format = createChatFormat({ tokenizer${settings} });
const messages = [{ role: 'user', content: process.argv[2] ?? 'Hello' }];
// Tools: render({ messages, tools }) and readTurn(..., { tools }), whose result has toolCalls.
const prompt = format.render({ messages });
const body = JSON.stringify({ model: ${quoted(name)}, prompt, raw: true, stream: false });
// OLLAMA_HOST as Ollama reads it: without a scheme, the port is 11434 unless it names one.
const host = process.env.OLLAMA_HOST || '127.0.0.1';
const address = host.includes('://')
  ? host
  : \`http://\${host}\${/:\\d+$/.test(host) ? '' : ':11434'}\`;
const reply = await fetch(\`\${address}/api/generate\`, { method: 'POST', body }).catch(
  ({ cause }) => new Response(cause?.message, { status: 502 }),
);
if (!reply.ok) {
  const create = ${quoted(`ollama create ${name} -f Modelfile`)};
  console.error(\`Ollama at \${address}: \${await reply.text()}\`);
  console.error(\`Start Ollama; in the folder of chat.mjs, run: \${create}\`);
  process.exit(2);
}
const { response } = await reply.json();
console.log(format.readTurn(format.encode(response), { tools: false }).text);
`;

const transformersJs = (
  dtype: string,
  settings: string,
): string => `// npm install @huggingface/transformers @trinity-rft/chat
import { fileURLToPath } from 'node:url';
import { AutoModelForCausalLM, AutoTokenizer } from '@huggingface/transformers';
import { createChatFormat, loadTokenizer } from '@trinity-rft/chat';

const folder = fileURLToPath(new URL('.', import.meta.url));
const tokenizer = await AutoTokenizer.from_pretrained(folder);
const model = await AutoModelForCausalLM.from_pretrained(folder, { dtype: ${quoted(dtype)} });
const format = createChatFormat({ tokenizer: await loadTokenizer(folder)${settings} });
const messages = [{ role: 'user', content: process.argv[2] ?? 'Hello' }];
// Tools: render({ messages, tools }) and readTurn(ids, { tools }), whose result has toolCalls.
const inputs = tokenizer(format.render({ messages }), { add_special_tokens: false });
const output = await model.generate({ ...inputs, max_new_tokens: 256 });
const ids = Int32Array.from(output.data.slice(inputs.input_ids.data.length), Number);
console.log(format.readTurn(ids, { tools: false }).text);
`;
