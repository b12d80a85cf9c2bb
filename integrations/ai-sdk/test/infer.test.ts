import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { scriptedModel, tryWorkflow } from '@trinity-rft/workflow';
import { generateText } from 'ai';
import { createOpenAICompatible as createOpenAICompatibleV2 } from 'ai-sdk-openai-compatible-v2';
import { createOpenAI as createOpenAIV3 } from 'ai-sdk-openai-v3';
import { generateText as generateTextV6 } from 'ai-v6';
import { describe, expect, it } from 'vitest';
import { aiSdkWorkflow } from '../src/workflow.js';

// These must compile: the model's type is inferred from its provider.
const ofChat = aiSdkWorkflow({
  name: 'chat',
  provider: createOpenAICompatible,
  run: async ({ question, languageModel }) =>
    (await generateText({ model: languageModel, prompt: question })).text,
});
aiSdkWorkflow({
  name: 'responses',
  provider: createOpenAI,
  run: async ({ question, languageModel }) =>
    (await generateText({ model: languageModel, prompt: question })).text,
});
const ofChatV6 = aiSdkWorkflow({
  name: 'chat-v6',
  provider: createOpenAICompatibleV2,
  run: async ({ question, languageModel }) =>
    (await generateTextV6({ model: languageModel, prompt: question })).text,
});
aiSdkWorkflow({
  name: 'responses-v6',
  provider: createOpenAIV3,
  run: async ({ question, languageModel }) =>
    (await generateTextV6({ model: languageModel, prompt: question })).text,
});

describe('the model object of the context', () => {
  it.each([ofChat, ofChatV6])('is one of the provider: %o', async (workflow) => {
    const outcome = await tryWorkflow(workflow, {
      model: scriptedModel({ answers: ['Oslo'] }),
      rawTask: { prompt: 'What is the capital of Norway?' },
      rewardFn: ({ response }) => (response === 'Oslo' ? 1 : 0),
    });
    expect(outcome).toMatchObject({ reward: 1 });
  });
});
