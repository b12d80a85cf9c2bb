/** A calculator tool: evaluates + - * / and parentheses by recursive descent, never by `eval`. */
import { WorkflowError } from '@trinity-rft/core';
import type { Tool } from './tool.js';

/** Longest expression it reads, in characters. */
const maxLength = 500;

/**
 * Value of an arithmetic expression.
 * @throws WorkflowError that says where it stops making sense
 */
export function calculate(expression: string): number {
  if (expression.length > maxLength)
    throw calculatorError(
      `the expression has ${expression.length} characters; at most ${maxLength} are read`,
    );
  const tokens = expression.match(/\d+(?:\.\d+)?|\.\d+|[-+*/()]|\S/g) ?? [];
  let at = 0;

  const sum = (): number => {
    let value = product();
    while (tokens[at] === '+' || tokens[at] === '-')
      value = tokens[at++] === '+' ? value + product() : value - product();
    return value;
  };
  const product = (): number => {
    let value = factor();
    while (tokens[at] === '*' || tokens[at] === '/')
      value = tokens[at++] === '*' ? value * factor() : value / factor();
    return value;
  };
  const factor = (): number => {
    const token = tokens[at++];
    if (token === '-') return -factor();
    if (token === '+') return factor();
    if (token === '(') {
      const value = sum();
      if (tokens[at++] !== ')') throw calculatorError('a closing parenthesis is missing');
      return value;
    }
    const value = token === undefined ? Number.NaN : Number(token);
    if (Number.isNaN(value))
      throw calculatorError(
        token === undefined ? 'the expression ends too early' : `"${token}" is not a number`,
      );
    return value;
  };

  const value = sum();
  if (at < tokens.length) throw calculatorError(`"${tokens[at]}" is not expected there`);
  if (!Number.isFinite(value)) throw calculatorError('the result is not a finite number');
  return value;
}

function calculatorError(what: string): WorkflowError {
  return new WorkflowError(`The calculator cannot evaluate this: ${what}.`, { code: 'CALCULATOR' });
}

/**
 * The tool `calculator({ expression })`; its answer is the value with at most 12 significant
 * digits.
 */
export const calculatorTool: Tool = {
  definition: {
    type: 'function',
    function: {
      name: 'calculator',
      description: 'Evaluates an arithmetic expression with + - * / and parentheses.',
      parameters: {
        type: 'object',
        properties: { expression: { type: 'string', description: 'for example 12*(3+4)' } },
        required: ['expression'],
      },
    },
  },
  call: ({ expression }) => String(Number(calculate(String(expression)).toPrecision(12))),
};
