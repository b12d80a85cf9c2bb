/** Asks the agent: `npm run ask -- '37*48'`. The SDK reads OPENAI_BASE_URL and OPENAI_API_KEY. */
import { run, setTracingDisabled } from '@openai/agents';
import { agent } from './agent/agent.ts';

setTracingDisabled(true); // Otherwise the SDK would send traces to OpenAI.
const { finalOutput } = await run(agent, process.argv[2] ?? '37*48', { maxTurns: 3 });
console.log(finalOutput);
