/** A calculator tool for + - * / and parentheses. Expressions are parsed by recursive descent. */
import { WorkflowError } from '@trinity-rft/core';
import type { Tool } from './tool.js';

/** Longest accepted expression, in characters. */
const maxLength = 500;

/**
 * Evaluates an arithmetic expression.
 * @throws WorkflowError if the expression cannot be evaluated
 */
export function calculate(expression: string): number {
  if (expression.length > maxLength)
    throw calculatorError(
      `the expression has ${expression.length} characters; at most ${maxLength} are read`,
    );
  const tokens = expression.match(/\d+(?:\.\d+)?|\.\d+|[-+*/()]|\S/g) ?? [];
  let position = 0;

  const sum = (): number => {
    let value = product();
    while (tokens[position] === '+' || tokens[position] === '-')
      value = tokens[position++] === '+' ? value + product() : value - product();
    return value;
  };
  const product = (): number => {
    let value = factor();
    while (tokens[position] === '*' || tokens[position] === '/')
      value = tokens[position++] === '*' ? value * factor() : value / factor();
    return value;
  };
  const factor = (): number => {
    const token = tokens[position++];
    if (token === '-') return -factor();
    if (token === '+') return factor();
    if (token === '(') {
      const value = sum();
      if (tokens[position++] !== ')') throw calculatorError('a closing parenthesis is missing');
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
  if (position < tokens.length)
    throw calculatorError(`"${tokens[position]}" is not expected there`);
  if (!Number.isFinite(value)) throw calculatorError('the result is not a finite number');
  return value;
}

function calculatorError(what: string): WorkflowError {
  return new WorkflowError(`The calculator cannot evaluate this: ${what}.`, { code: 'CALCULATOR' });
}

/**
 * Tool `calculator({ expression })`, which returns the value with at most 12 significant digits.
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
