/** Asks the agent: `npm run ask -- '37*48'`. The client reads OPENAI_BASE_URL and OPENAI_API_KEY. */
import { agent } from './agent/agent.ts';

const question = process.argv[2] ?? '37*48';
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: question }] });
console.log(messages.at(-1)?.text);
