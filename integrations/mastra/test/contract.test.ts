import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { createTool } from '@mastra/core/tools';
import { servedRollouts } from '@trinity-rft/model/testing';
import { describeAgentAdapter, type AgentTool, type AgentUnderTest } from '@trinity-rft/testing';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { afterAll } from 'vitest';
import { z } from 'zod';
import { finalText } from '../src/final-text.js';
import { mastraModel, type MastraModelOptions } from '../src/model.js';

const served = await servedRollouts();
afterAll(() => served.close());

/** One agent object for all runs, which gets the model with each call. */
function agentObject(
  tools: readonly AgentTool[],
  options: MastraModelOptions,
): AgentUnderTest<AgentEndpoint> {
  const agent = new Agent({
    id: 'weather',
    name: 'weather',
    instructions: 'Be brief.',
    model: 'openai/gpt-5',
    tools: Object.fromEntries(
      tools.map(({ name, description, parameters, execute }) => [
        name,
        createTool({
          id: name,
          description,
          inputSchema: z.fromJSONSchema(parameters),
          execute: async (input) => execute(input),
        }),
      ]),
    ),
  });
  // Turns logging off; the caller gets the errors as well.
  new Mastra({ agents: { agent }, logger: false });
  return async ({ endpoint, question, streamed, signal, settings }) => {
    const call = {
      model: mastraModel(endpoint, options),
      abortSignal: signal,
      maxSteps: 8,
      modelSettings: settings,
    };
    if (!streamed) return finalText(await agent.generate(question, call));
    return finalText(await (await agent.stream(question, call)).getFullOutput());
  };
}

describeAgentAdapter('Mastra over Responses', {
  ...served,
  createAgent: (tools) => agentObject(tools, {}),
});
describeAgentAdapter('Mastra over chat completions', {
  ...served,
  createAgent: (tools) => agentObject(tools, { api: 'chat' }),
  deviations: [
    {
      conversation: 'the same text in two turns',
      because: 'Mastra sends the text only once',
      expected: { forks: { text_edited: 1 } },
    },
  ],
});
