/** `tool_call_reward`: 1 if exactly the expected tools are called, with the expected arguments. */
import { booleanArg, numberArg, RewardError } from '@trinity-rft/core';
import { rewardKind } from './shared/reward-kind.js';
import { hasOneThought } from './shared/layout.js';
import { callsIn, readCalls, sameCalls, sameNames, type Call } from './shared/tool-calls.js';
import { requireTruth, wholeResponse } from './shared/inputs.js';
import { accuracyCoef } from './shared/arguments.js';

/**
 * Reads every `<tool_call>..</tool_call>` after the thought. Each tag contains JSON such as
 * `[{"name": .., "arguments": ..}]`. A response is correct if it has exactly one thought, and after
 * it exactly the calls of the reference answer, in any order and with equal arguments. If the
 * reference has no calls, a response without calls is correct. Source: Tool-N1, arXiv:2505.00024;
 * `tool_call_workflow` of Trinity-RFT, which reads only the last tag.
 */
export const toolCallReward = rewardKind('tool_call_reward', {
  summary: 'Are exactly the expected tools called, with the expected arguments, after one thought?',
  parts: { accuracy: '1 when they are, else 0' },
  args: {
    with_think: booleanArg(
      true,
      'Must there be exactly one <think> and </think> before the first call?',
    ),
    names_coef: numberArg(
      0,
      undefined,
      'Value when the tools are right and their arguments are not.',
    ),
    accuracy_coef: accuracyCoef,
  },
  create: (options) => (input) => {
    const truth = requireTruth('tool_call_reward', input);
    const expected = readCalls(truth) ?? invalidTruth(truth);
    const response = wholeResponse(input);
    const calls = callsIn(response);
    if (!calls || (options.with_think && !thinksFirst(response))) return { accuracy: 0 };
    if (sameCalls(calls, expected)) return { accuracy: options.accuracy_coef };
    return { accuracy: sameNames(calls, expected) ? options.names_coef : 0 };
  },
});

const thinksFirst = (response: string): boolean =>
  hasOneThought(response) && response.indexOf('</think>') < response.indexOf('<tool_call>');

function invalidTruth(truth: string): readonly Call[] {
  throw new RewardError(
    `The expected answer of a tool_call_reward task is ${truth.slice(0, 80)}; expected JSON like ` +
      '[{"name": "f", "arguments": {"a": 1}}]. Change the row, or name the right column in ' +
      'format.response_key of the task set.',
    { code: 'REWARD_TRUTH_INVALID' },
  );
}
