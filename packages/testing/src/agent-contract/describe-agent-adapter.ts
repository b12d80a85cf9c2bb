/**
 * The contract that every integration of an agent framework meets, as a suite to run in its own
 * tests.
 */
import { describe } from 'vitest';
import { conversationCases } from './conversation-cases.js';
import type { AgentContract } from './fixture.js';
import { rolloutCases } from './rollout-cases.js';

/**
 * Call it at the top level of a test file, once per way to reach the model:
 * `describeAgentAdapter('AI SDK', { open, createAgent, ... })`. Every conversation is scripted, so
 * no weights are needed; whole answers and streams are tested alike.
 */
export function describeAgentAdapter<Endpoint>(
  name: string,
  contract: AgentContract<Endpoint>,
): void {
  for (const mode of contract.modes ?? (['whole', 'streamed'] as const)) {
    describe(`${name}, ${mode}, meets the agent contract`, { tags: ['contract'] }, () => {
      conversationCases(contract, mode);
      rolloutCases(contract, mode);
    });
  }
}
