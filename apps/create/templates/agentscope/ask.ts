/**
 * Asks the agent: `npm run ask -- '37*48'`. The model is at OPENAI_BASE_URL; the key is
 * OPENAI_API_KEY.
 */
import { OpenAIChatModel } from '@agentscope-ai/agentscope/model';
import { textOf } from '@trinity-rft/agentscope';
import { answer } from './agent/agent.ts';

const model = new OpenAIChatModel({
  modelName: 'agent',
  apiKey: process.env['OPENAI_API_KEY'] ?? 'none',
  baseURL: process.env['OPENAI_BASE_URL'],
});
console.log(textOf(await answer(process.argv[2] ?? '37*48', model)));
