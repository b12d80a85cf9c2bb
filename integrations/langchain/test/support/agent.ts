/** Agents for the contract: one object for all runs, created with a model that must not be called. */
import type { AIMessage, BaseMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { testRuntime, type AgentContract, type AgentTool } from '@trinity-rft/testing';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { createAgent, tool } from 'langchain';
import {
  redirectModel,
  runConfig,
  runModel,
  type LangchainModelOptions,
  type RunConfig,
} from '../../src/index.js';

const toTool = ({ name, description, parameters, execute }: AgentTool) =>
  tool(execute, { name, description, schema: parameters as never });

/** Model that must never be called. */
export const otherModel = new ChatOpenAI({
  model: 'gpt-5',
  apiKey: 'none',
  configuration: { baseURL: 'http://elsewhere.invalid/v1' },
});

interface Input {
  readonly messages: { readonly role: 'user'; readonly content: string }[];
}

/** Common interface of agents and graphs. */
interface Invocable {
  invoke(input: Input, config: RunConfig): Promise<{ readonly messages: BaseMessage[] }>;
  stream(
    input: Input,
    config: RunConfig & { readonly streamMode: ['values', 'messages'] },
  ): Promise<
    AsyncIterable<
      readonly ['values', { readonly messages: BaseMessage[] }] | readonly ['messages', unknown]
    >
  >;
}

export const createWeatherAgent = (tools: readonly AgentTool[]): Invocable =>
  createAgent({
    model: otherModel,
    tools: tools.map(toTool),
    middleware: [redirectModel()],
  }) as unknown as Invocable;

export function createWeatherGraph(tools: readonly AgentTool[]): Invocable {
  const known = tools.map(toTool);
  return new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }, config): Promise<{ messages: AIMessage }> => {
      const model = runModel(config, otherModel).bindTools(known);
      return { messages: await model.invoke(messages, config) };
    })
    .addNode('tools', new ToolNode(known))
    .addEdge(START, 'model')
    .addConditionalEdges('model', toolsCondition, ['tools', END])
    .addEdge('tools', 'model')
    .compile() as unknown as Invocable;
}

/**
 * Plays an agent. With `streaming`, every model call streams; otherwise only the calls of a streamed
 * run.
 */
export const playing =
  (
    create: (tools: readonly AgentTool[]) => Invocable,
    options: LangchainModelOptions = {},
  ): AgentContract<AgentEndpoint>['createAgent'] =>
  (tools) => {
    const agent = create(tools);
    const runtime = testRuntime();
    return async ({ endpoint, question, streamed, signal, settings: { temperature, seed } }) => {
      const settings = {
        ...(temperature !== undefined && { temperature }),
        ...(seed !== undefined && { modelKwargs: { seed } }),
      };
      const config = runConfig({ endpoint, runtime, signal, ...options, ...settings });
      const input: Input = { messages: [{ role: 'user', content: question }] };
      if (!streamed) return (await agent.invoke(input, config)).messages.at(-1)?.text ?? '';
      let text = '';
      for await (const part of await agent.stream(input, {
        ...config,
        streamMode: ['values', 'messages'],
      })) {
        if (part[0] === 'values') text = part[1].messages.at(-1)?.text ?? '';
      }
      return text;
    };
  };
