/** Products of two-digit numbers, and demonstrations that use the tool or guess. */
import type { ChatMessage, Random, ToolDefinition } from '@trinity-rft/core';
import { calculator, callCalculator } from '../plugins/agent/calculator.ts';

export interface Problem {
  readonly question: string;
  readonly answer: string;
}

export interface Demonstration {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDefinition[];
}

/** Two-digit numbers that are not multiples of 10, so that the product of rounded numbers is never right. */
const factors = Array.from({ length: 90 }, (_, i) => 10 + i).filter((factor) => factor % 10 !== 0);

/** All products in random order, split into those for training and those for evaluation. */
export function splitProblems(
  random: Random,
  evalCount: number,
): { readonly train: readonly Problem[]; readonly fresh: readonly Problem[] } {
  const all = random.shuffle(
    factors.flatMap((a) => factors.map((b) => ({ question: `${a}*${b}`, answer: String(a * b) }))),
  );
  return { train: all.slice(evalCount), fresh: all.slice(0, evalCount) };
}

/** One conversation per problem; the share `toolShare` of them calls the tool. */
export function demonstrations(
  problems: readonly Problem[],
  toolShare: number,
  random: Random,
): readonly Demonstration[] {
  return problems.map((problem) => ({
    messages: random.next() < toolShare ? withTool(problem.question) : byGuess(problem.question),
    tools: [calculator as ToolDefinition],
  }));
}

function withTool(question: string): readonly ChatMessage[] {
  const args = JSON.stringify({ expression: question });
  const result = callCalculator(args);
  return [
    { role: 'user', content: question },
    {
      role: 'assistant',
      content: '',
      tool_calls: [
        { id: 'call', type: 'function', function: { name: 'calculator', arguments: args } },
      ],
    },
    { role: 'tool', tool_call_id: 'call', content: result },
    { role: 'assistant', content: result },
  ];
}

/** Conversation that guesses: rounds both factors to multiples of 10, as 37*48 is about 40*50. */
function byGuess(question: string): readonly ChatMessage[] {
  const [a = 0, b = 0] = question.split('*').map((factor) => 10 * Math.round(Number(factor) / 10));
  return [
    { role: 'user', content: question },
    { role: 'assistant', content: String(a * b) },
  ];
}
