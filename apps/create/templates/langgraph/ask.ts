/** Asks the graph: `npm run ask -- '37*48'`. The client reads OPENAI_BASE_URL and OPENAI_API_KEY. */
import { answer } from './agent/agent.ts';

console.log(await answer(process.argv[2] ?? '37*48'));
