/**
 * An agent as a program: `node agent/agent.mjs QUESTION` prints the answer. It knows nothing about training, and may be
 * written in any language: it reads OPENAI_BASE_URL and OPENAI_API_KEY.
 */
import { OpenAI } from 'openai';

const client = new OpenAI({ maxRetries: 0 });
const tools = [
  {
    type: 'function',
    function: {
      name: 'calculator',
      description: 'Multiplies two whole numbers.',
      parameters: {
        type: 'object',
        properties: { expression: { type: 'string', description: 'for example 12*34' } },
        required: ['expression'],
      },
    },
  },
];
const messages = [{ role: 'user', content: process.argv[2] ?? '37*48' }];

/** Multiplies: `12*34` gives `408`, everything else `error`. */
function multiply(rawArguments) {
  const factors = /^\{"expression": ?"(\d+)\*(\d+)"\}$/.exec(rawArguments);
  return factors ? String(Number(factors[1]) * Number(factors[2])) : 'error';
}

for (let turn = 0; turn < 3; turn++) {
  const { choices } = await client.chat.completions.create({
    model: 'gpt-5-nano',
    messages,
    tools,
  });
  messages.push(choices[0].message);
  const calls = choices[0].message.tool_calls ?? [];
  if (calls.length === 0) break;
  for (const { id, function: call } of calls)
    messages.push({ role: 'tool', tool_call_id: id, content: multiply(call.arguments) });
}
process.stdout.write(messages.at(-1).content ?? '');
