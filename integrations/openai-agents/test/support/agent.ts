/**
 * The agent of the contract: one object for all runs, that names or holds another model.
 */
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

/** Schemas that are not strict are not validated by the SDK, so the tool does it. */
const toTool = ({ name, description, parameters, execute }: AgentTool) =>
  tool({
    name,
    description,
    parameters: parameters as never,
    strict: false,
    execute: (input: unknown) => execute(z.fromJSONSchema(parameters as never).parse(input)),
  });

/** Nothing may reach it. */
export const elsewhere: Model = {
  getResponse: () => Promise.reject(new Error('asked the wrong model')),
  getStreamedResponse: () => {
    throw new Error('asked the wrong model');
  },
};

/** Streams are read to their end, as a user interface would. */
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
