// An agent as a separate program: `node calculator-agent.mjs QUESTION`. It is independent of
// training.
import { OpenAI } from 'openai';

const client = new OpenAI({ maxRetries: 0 });
const calculator = {
  name: 'calculator',
  description: 'Multiplies two whole numbers.',
  parameters: {
    type: 'object',
    properties: { expression: { type: 'string', description: 'for example 12*34' } },
    required: ['expression'],
  },
};
const messages = [{ role: 'user', content: process.argv[2] }];

/** Multiplies: `12*34` gives `408`, everything else `error`. */
function multiply({ expression }) {
  const factors = /^(\d+)\*(\d+)$/.exec(expression);
  return factors ? String(Number(factors[1]) * Number(factors[2])) : 'error';
}

for (let turn = 0; turn < 3; turn++) {
  const tools = [{ type: 'function', function: calculator }];
  const { choices } = await client.chat.completions.create({
    model: 'gpt-5-nano',
    messages,
    tools,
  });
  messages.push(choices[0].message);
  const calls = choices[0].message.tool_calls ?? [];
  if (calls.length === 0) break;
  for (const { id, function: call } of calls)
    messages.push({
      role: 'tool',
      tool_call_id: id,
      content: multiply(JSON.parse(call.arguments)),
    });
}
process.stdout.write(messages.at(-1).content ?? '');
