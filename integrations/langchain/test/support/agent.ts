/** Agents of the contract: one object for all runs, made with a model of somebody else. */
import { ChatOpenAI } from '@langchain/openai';
import type { AgentContract, AgentTool } from '@trinity-rft/testing';
import { testRuntime } from '@trinity-rft/testing';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { createAgent, tool } from 'langchain';
import { redirectModel, runConfig, type LangchainModelOptions } from '../../src/index.js';

const toTool = ({ name, description, parameters, execute }: AgentTool) => tool(execute, { name, description, schema: parameters as never });

/** Never asked. */
export const somebodyElse = new ChatOpenAI({ model: 'gpt-5', apiKey: 'none', configuration: { baseURL: 'http://elsewhere.invalid/v1' } });

export const createWeatherAgent =
  (options: LangchainModelOptions): AgentContract<AgentEndpoint>['createAgent'] =>
  (tools) => {
    const agent = createAgent({ model: somebodyElse, tools: tools.map(toTool), middleware: [redirectModel()] });
    const runtime = testRuntime();
    return async ({ endpoint, question, streamed, signal, settings: { temperature, seed } }) => {
      const settings = { ...(temperature !== undefined && { temperature }), ...(seed !== undefined && { modelKwargs: { seed } }) };
      const config = runConfig({ endpoint, runtime, signal, streaming: streamed, ...options, ...settings });
      const input = { messages: [{ role: 'user' as const, content: question }] };
      if (!streamed) return (await agent.invoke(input, config)).messages.at(-1)?.text ?? '';
      let text = '';
      for await (const state of await agent.stream(input, { ...config, streamMode: 'values' })) text = state.messages.at(-1)?.text ?? '';
      return text;
    };
  };
