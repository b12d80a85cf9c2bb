/** Asks the agent: `npm run ask -- '37*48'`. The client reads OPENAI_BASE_URL and OPENAI_API_KEY. */
import { OpenAI } from 'openai';
import { answer } from './agent/agent.ts';

console.log(await answer(new OpenAI(), process.argv[2] ?? '37*48'));
