// An agent as a program: `node weather-agent.mjs QUESTION`. It reads the address of an
// OpenAI-compatible endpoint from its environment and does not use our packages.
import { OpenAI } from 'openai';

const client = new OpenAI({ maxRetries: 0 });
const { TOOLS, TOOL_URL, STREAM, TEMPERATURE, SEED } = process.env;
const tools = JSON.parse(TOOLS).map((definition) => ({ type: 'function', function: definition }));
const settings = {
  ...(TEMPERATURE && { temperature: Number(TEMPERATURE) }),
  ...(SEED && { seed: Number(SEED) }),
};
const messages = [{ role: 'user', content: process.argv[2] }];

const ask = async () => {
  const request = { model: 'gpt-5', messages, tools, ...settings };
  if (STREAM)
    return (await client.chat.completions.stream(request).finalChatCompletion()).choices[0].message;
  return (await client.chat.completions.create(request)).choices[0].message;
};

const callTool = async ({ name, arguments: input }) => {
  const response = await fetch(`${TOOL_URL}/${name}`, { method: 'POST', body: input });
  return response.text();
};

for (let turn = 0; turn < 8; turn++) {
  const message = await ask();
  messages.push(message);
  if (!message.tool_calls?.length) break;
  for (const call of message.tool_calls)
    messages.push({ role: 'tool', tool_call_id: call.id, content: await callTool(call.function) });
}
process.stdout.write(`${messages.at(-1).content ?? ''}\n`);
