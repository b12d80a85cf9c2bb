/** Trains the agent: `trinity run --plugin-dir frameworks/ai-sdk`. */
import { createOpenAI } from '@ai-sdk/openai';
import { aiSdkWorkflow } from '@trinity-rft/ai-sdk';
import { answer } from './agent/calculator-agent.ts';

export const workflow = aiSdkWorkflow({
  name: 'ai-sdk',
  provider: createOpenAI,
  run: ({ question, signal }) => answer(question, signal),
});
