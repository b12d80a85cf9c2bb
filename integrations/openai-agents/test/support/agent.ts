/** Agent for the contract: one object for all runs, which names or holds a model that must not be called. */
import { Agent, tool, type Model } from '@openai/agents';
import type { AgentContract, AgentTool } from '@trinity-rft/testing';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { z } from 'zod';
import {
  openaiAgentsModel,
  openaiAgentsRunner,
  withModel,
  type OpenAIAgentsApi,
} from '../../src/index.js';

/**
 * Converts a tool. The tool validates its input itself, because the SDK does not validate against
 * schemas that are not strict.
 */
const toTool = ({ name, description, parameters, execute }: AgentTool) =>
  tool({
    name,
    description,
    parameters: parameters as never,
    strict: false,
    execute: (input: unknown) => execute(z.fromJSONSchema(parameters as never).parse(input)),
  });

/** Model that must never be called. */
export const elsewhere: Model = {
  getResponse: () => Promise.reject(new Error('asked the wrong model')),
  getStreamedResponse: () => {
    throw new Error('asked the wrong model');
  },
};

/** Creates the agent. Streams are read to the end, as a user interface does. */
export const createAgent =
  (
    api: OpenAIAgentsApi,
    own: string | Model = 'gpt-5',
  ): AgentContract<AgentEndpoint>['createAgent'] =>
  (tools) => {
    const shared = new Agent({ name: 'Weather', model: own, tools: tools.map(toTool) });
    return async ({ endpoint, question, streamed, signal, settings: { temperature, seed } }) => {
      const modelSettings = {
        ...(temperature !== undefined && { temperature }),
        ...(seed !== undefined && { providerData: { seed } }),
      };
      const runner = openaiAgentsRunner(endpoint, { api, modelSettings });
      const agent =
        typeof own === 'string' ? shared : withModel(shared, openaiAgentsModel(endpoint, { api }));
      if (!streamed) return (await runner.run(agent, question, { signal })).finalOutput ?? '';
      const stream = await runner.run(agent, question, { signal, stream: true });
      for await (const _ of stream);
      await stream.completed;
      return stream.finalOutput ?? '';
    };
  };
