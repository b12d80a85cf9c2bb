/** Asks the agent: `npm run ask -- '37*48'`. The provider reads OPENAI_BASE_URL and OPENAI_API_KEY. */
import { createOpenAI } from '@ai-sdk/openai';
import { answer } from './agent/agent.ts';

const model = createOpenAI().chat('agent');
console.log(await answer(process.argv[2] ?? '37*48', { model }));
