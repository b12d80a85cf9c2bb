import { fileURLToPath } from 'node:url';
import { servedRollouts } from '@trinity-rft/model/testing';
import { describeAgentAdapter, type AgentContract } from '@trinity-rft/testing';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { afterAll } from 'vitest';
import { runCommand } from '../src/index.js';
import { openToolServer } from './support/tool-server.js';

const served = await servedRollouts();
const toolServer = await openToolServer();
afterAll(() => Promise.all([served.close(), toolServer.close()]));

const program = fileURLToPath(new URL('agent/weather-agent.mjs', import.meta.url));

const createAgent: AgentContract<AgentEndpoint>['createAgent'] = (tools) => {
  const definitions = tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parameters,
  }));
  const address = toolServer.add(tools);
  return async ({ endpoint, question, streamed, signal, settings: { temperature, seed } }) => {
    const env = {
      TOOLS: JSON.stringify(definitions),
      TOOL_URL: address,
      NODE_OPTIONS: '',
      ...(streamed && { STREAM: '1' }),
      ...(temperature !== undefined && { TEMPERATURE: String(temperature) }),
      ...(seed !== undefined && { SEED: String(seed) }),
    };
    return (
      await runCommand(
        endpoint,
        { command: process.execPath, args: [program, question], env },
        signal,
      )
    ).text;
  };
};

describeAgentAdapter('A program with the openai package', {
  ...served,
  createAgent,
  // Fewer than the default, because each rollout is a process with its own agent object.
  concurrentRollouts: 12,
  deviations: [
    {
      conversation: 'white space around text and calls',
      because: 'what a program writes is read without the white space around it',
      expected: { text: 'Mild.' },
    },
  ],
});
