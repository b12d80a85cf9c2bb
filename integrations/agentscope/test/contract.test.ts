import { Agent } from '@agentscope-ai/agentscope/agent';
import { createMsg } from '@agentscope-ai/agentscope/message';
import { OpenAIChatModel } from '@agentscope-ai/agentscope/model';
import { Toolkit, type ToolInputSchema } from '@agentscope-ai/agentscope/tool';
import { servedRollouts } from '@trinity-rft/model/testing';
import {
  describeAgentAdapter,
  type AgentTool,
  type AgentUnderTest,
  type Deviation,
} from '@trinity-rft/testing';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { afterAll } from 'vitest';
import { agentscopeModel, textOf } from '../src/index.js';

const served = await servedRollouts();
afterAll(() => served.close());

type Settings = (
  endpoint: AgentEndpoint,
  stream: boolean,
) => ConstructorParameters<typeof OpenAIChatModel>[0];

/**
 * Creates an agent for each run, because agents are stateful. The framework takes no abort signal: its calls end with
 * the run.
 */
const agentOf =
  (settings: Settings) =>
  (tools: readonly AgentTool[]): AgentUnderTest<AgentEndpoint> =>
  async ({ endpoint, question, streamed, settings: presetGenParams }) => {
    const agent = new Agent({
      name: 'weather',
      sysPrompt: 'Be brief.',
      model: new OpenAIChatModel({ ...settings(endpoint, streamed), presetGenParams }),
      toolkit: new Toolkit({
        tools: tools.map(({ parameters, execute, ...tool }) => ({
          ...tool,
          inputSchema: parameters as ToolInputSchema,
          call: execute,
        })),
        builtInSkillTool: false,
      }),
    });
    const content = [{ type: 'text' as const, id: 'question', text: question }];
    return textOf(await agent.reply({ msgs: createMsg({ name: 'user', role: 'user', content }) }));
  };

const always: readonly Deviation[] = [
  {
    conversation: 'reasoning before a call',
    because: 'the model class does not read reasoning, so the next turn has another prompt',
    expected: { forks: { reasoning_dropped: 1 } },
  },
  {
    conversation: 'an error of the engine',
    because: 'the client within the model class repeats failed calls, and has no setting for it',
    expected: { ends: 'answer', recorded: 1 },
  },
  {
    conversation: 'an error of the engine in the second turn',
    because: 'the client within the model class repeats failed calls, and has no setting for it',
    expected: { ends: 'answer', recorded: 2 },
  },
];
const mixed = [
  'a tool loop of three turns',
  'arguments in odd JSON',
  'the same text in two turns',
] as const;

describeAgentAdapter('AgentScope (test double)', {
  ...served,
  createAgent: agentOf((endpoint, stream) => agentscopeModel(endpoint, { stream })),
  deviations: always,
});
describeAgentAdapter('AgentScope (test double) with its own formatter', {
  ...served,
  createAgent: agentOf((endpoint, stream) => ({ ...endpoint.agentscope(), stream })),
  deviations: [
    ...always,
    ...mixed.map((conversation) => ({
      conversation,
      because:
        'all turns of a reply are one message, so the third prompt does not continue the second',
      expected: { forks: { text_edited: 1 } },
    })),
  ],
});
