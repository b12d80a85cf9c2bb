import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { inProcessRollouts } from '@trinity-rft/model/testing';
import { describeAgentAdapter, type AgentTool, type AgentUnderTest } from '@trinity-rft/testing';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { createOpenAICompatible } from 'ai-sdk-openai-compatible-v2';
import { createOpenAI } from 'ai-sdk-openai-v3';
import * as ai6 from 'ai-v6';
import {
  generateText,
  stepCountIs,
  streamText,
  tool,
  ToolLoopAgent,
  type LanguageModel,
  type ToolSet,
} from 'ai-v6';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { withDefaultProvider } from '../src/default-provider.js';
import { aiSdkModel, type CreateProvider } from '../src/model.js';
import { readStream } from './support/read-stream.js';

const inProcess = inProcessRollouts();

const stopWhen = stepCountIs(8);

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

function agentObject(tools: readonly AgentTool[]): AgentUnderTest<AgentEndpoint> {
  const agent = new ToolLoopAgent({ model: 'openai/gpt-5', tools: toolSet(tools), stopWhen });
  return ({ endpoint, question, streamed, signal }) =>
    withDefaultProvider(
      () => aiSdkModel(endpoint, createOpenAI),
      async () => {
        const options = { prompt: question, abortSignal: signal };
        return streamed
          ? readStream(await agent.stream(options))
          : (await agent.generate(options)).text;
      },
    );
}

describeAgentAdapter('AI SDK 6 functions over chat completions', {
  ...inProcess,
  createAgent: (tools) => functions(tools, createOpenAICompatible),
});
describeAgentAdapter('AI SDK 6 functions over Responses', {
  ...inProcess,
  createAgent: (tools) => functions(tools, createOpenAI),
});
describeAgentAdapter('AI SDK 6 agents over Responses', { ...inProcess, createAgent: agentObject });

it.each(['README.md', '../../apps/create/templates/ai-sdk/agent/agent.ts'])(
  'AI SDK 6 has what %s imports',
  async (file) => {
    const text = await readFile(path.join(import.meta.dirname, '..', file), 'utf8');
    const [, names = ''] = /import \{([^}]*)\} from 'ai';/.exec(text) ?? [];
    const values = names.split(',').map((name) => name.trim());
    expect(Object.keys(ai6)).toEqual(
      expect.arrayContaining(values.filter((name) => !name.startsWith('type '))),
    );
    expect(values).toContain('tool');
  },
);
