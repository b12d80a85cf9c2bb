import { describe } from 'vitest';
import { conversationCases } from './conversation-cases.js';
import type { AgentContract } from './fixture.js';
import { rolloutCases } from './rollout-cases.js';

/**
 * Declares the tests for an integration of an agent framework. Call it at the top level of a test
 * file, once per API of the framework: `describeAgentAdapter('AI SDK', { open, createAgent, ...
 * })`. The model's outputs are scripted, so no weights are needed. Calls with complete and with
 * streamed responses are tested.
 */
export function describeAgentAdapter<Endpoint>(
  name: string,
  contract: AgentContract<Endpoint>,
): void {
  for (const mode of contract.modes ?? (['whole', 'streamed'] as const)) {
    describe(`${name}, ${mode}, meets the agent contract`, () => {
      conversationCases(contract, mode);
      rolloutCases(contract, mode);
    });
  }
}
