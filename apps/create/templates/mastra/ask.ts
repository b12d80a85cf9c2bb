/** Asks the agent: `npm run ask -- '37*48'`. The agent reads OPENAI_BASE_URL and OPENAI_API_KEY. */
import { agent } from './agent/agent.ts';

const { text } = await agent.generate(process.argv[2] ?? '37*48', { maxSteps: 3 });
console.log(text);
