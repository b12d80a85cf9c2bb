import { describeAgentAdapter } from '@trinity-rft/testing';
import { createAgent } from './support/agent.js';
import { inProcess } from './support/rollout.js';

describeAgentAdapter('OpenAI Agents SDK over chat completions', { ...inProcess, createAgent: createAgent('chat') });
