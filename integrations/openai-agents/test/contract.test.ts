import { inProcessRollouts } from '@trinity-rft/model/testing';
import { describeAgentAdapter, type Deviation } from '@trinity-rft/testing';
import { createAgent, elsewhere } from './support/agent.js';

const inProcess = inProcessRollouts();

const unknownTool: Deviation = {
  conversation: 'a tool that does not exist',
  because:
    'the SDK throws a ModelBehaviorError at once; the turn is kept, and outcomeOf makes data of it',
  expected: { ends: 'error', recorded: 1 },
};

describeAgentAdapter('OpenAI Agents SDK over chat completions', {
  ...inProcess,
  createAgent: createAgent('chat'),
  deviations: [unknownTool],
});
describeAgentAdapter('OpenAI Agents SDK over Responses', {
  ...inProcess,
  createAgent: createAgent('responses'),
  deviations: [unknownTool],
});
describeAgentAdapter('OpenAI Agents SDK, an agent that holds a model', {
  ...inProcess,
  createAgent: createAgent('responses', elsewhere),
  deviations: [unknownTool],
});
