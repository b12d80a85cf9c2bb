import { inProcessRollouts } from '@trinity-rft/model/testing';
import { describeAgentAdapter, type Deviation } from '@trinity-rft/testing';
import { createWeatherAgent, createWeatherGraph, playing } from './support/agent.js';

const inProcess = inProcessRollouts();

const deviations: readonly Deviation[] = [
  {
    conversation: 'reasoning before a call',
    because:
      'LangChain does not send reasoning back in chat completions, so the next turn has another prompt',
    expected: { forks: { reasoning_dropped: 1 } },
  },
];
const overResponses = { useResponsesApi: true };

describeAgentAdapter('LangChain over chat completions', {
  ...inProcess,
  createAgent: playing(createWeatherAgent),
  deviations,
});
describeAgentAdapter('LangChain over Responses', {
  ...inProcess,
  createAgent: playing(createWeatherAgent, overResponses),
});
describeAgentAdapter('LangChain with a streaming model', {
  ...inProcess,
  createAgent: playing(createWeatherAgent, { streaming: true }),
  deviations,
  modes: ['whole'],
});
describeAgentAdapter('LangGraph over chat completions', {
  ...inProcess,
  createAgent: playing(createWeatherGraph),
  deviations,
});
describeAgentAdapter('LangGraph over Responses', {
  ...inProcess,
  createAgent: playing(createWeatherGraph, overResponses),
});
