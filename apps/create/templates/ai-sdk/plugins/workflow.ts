/** The agent as a workflow: its calls go to the model that is trained, and its answer is scored. */
import { createOpenAI } from '@ai-sdk/openai';
import { aiSdkWorkflow } from '@trinity-rft/ai-sdk';
import { answer } from '../agent/agent.ts';

export const calculator = aiSdkWorkflow({
  name: 'calculator',
  provider: createOpenAI,
  run: ({ question, signal }) => answer(question, { signal }),
});
