import { describeAgentAdapter, type Deviation } from '@trinity-rft/testing';
import { createWeatherAgent } from './support/agent.js';
import { inProcess } from './support/rollout.js';

const reasoningDropped: Deviation = {
  conversation: 'reasoning before a call',
  because: 'LangChain does not send reasoning back in chat completions, so the next turn has another prompt',
  expected: { forks: { reasoning_dropped: 1 } },
};

describeAgentAdapter('LangChain over chat completions', {
  ...inProcess,
  createAgent: createWeatherAgent({}),
  deviations: [reasoningDropped],
});
describeAgentAdapter('LangChain over Responses', { ...inProcess, createAgent: createWeatherAgent({ useResponsesApi: true }) });
