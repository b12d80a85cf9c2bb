import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { inProcessRollouts } from '@trinity-rft/model/testing';
import { describeAgentAdapter, type AgentTool, type AgentUnderTest } from '@trinity-rft/testing';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import {
  generateText,
  isStepCount,
  streamText,
  tool,
  ToolLoopAgent,
  type LanguageModel,
  type ToolSet,
} from 'ai';
import { z } from 'zod';
import { aiSdkModel, type CreateProvider } from '../src/model.js';
import { withDefaultProvider } from '../src/default-provider.js';
import { readStream } from './support/read-stream.js';

const inProcess = inProcessRollouts();

const stopWhen = isStepCount(8);

const toolSet = (tools: readonly AgentTool[]): ToolSet =>
  Object.fromEntries(
    tools.map(({ name, description, parameters, execute }) => [
      name,
      tool({
        description,
        inputSchema: z.fromJSONSchema(parameters),
        execute: async (input) => execute(input),
      }),
    ]),
  );

/** Agent made of `generateText` and `streamText`, with the model as an argument. */
function functions(
  tools: readonly AgentTool[],
  provider: CreateProvider<LanguageModel>,
): AgentUnderTest<AgentEndpoint> {
  const shared = { tools: toolSet(tools), stopWhen };
  return async ({ endpoint, question, streamed, signal, settings }) => {
    const options = {
      ...shared,
      ...settings,
      model: aiSdkModel(endpoint, provider),
      prompt: question,
      abortSignal: signal,
    };
    if (!streamed) return (await generateText(options)).text;
    return readStream(streamText({ ...options, onError: () => undefined }));
  };
}

/** Agent object of a module, which names its model as text. */
function agentObject(tools: readonly AgentTool[]): AgentUnderTest<AgentEndpoint> {
  const agent = new ToolLoopAgent({ model: 'openai/gpt-5', tools: toolSet(tools), stopWhen });
  return ({ endpoint, question, streamed, signal }) =>
    withDefaultProvider(
      () => aiSdkModel(endpoint, createOpenAICompatible),
      async () => {
        const options = { prompt: question, abortSignal: signal };
        return streamed
          ? readStream(await agent.stream(options))
          : (await agent.generate(options)).text;
      },
    );
}

describeAgentAdapter('AI SDK functions over chat completions', {
  ...inProcess,
  createAgent: (tools) => functions(tools, createOpenAICompatible),
});
describeAgentAdapter('AI SDK functions over Responses', {
  ...inProcess,
  createAgent: (tools) => functions(tools, createOpenAI),
});
describeAgentAdapter('AI SDK agents over chat completions', {
  ...inProcess,
  createAgent: agentObject,
});
