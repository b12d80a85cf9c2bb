/** Generates requests and tools from a seed, in the format of BFCL's rows. */
import { type Random, createRandom } from '@trinity-rft/core';
import { pick } from '../shared/pick.js';
import type { Answer, BfclFunction } from './check-calls.js';
import { type Told, toolsOfEveryday, type Value } from './everyday-tools.js';
import type { ToolCallRow } from './rows.js';

interface Asked {
  readonly words: string;
  readonly answer: Answer;
}

/**
 * Generates a row.
 * @param level 1: one tool and one call; 2: one call with four tools; 3: two calls with four tools
 */
export function drawRow(level: number, seed: number): ToolCallRow {
  const random = createRandom(seed);
  const offered = shuffled(toolsOfEveryday, random).slice(0, level === 1 ? 1 : 4);
  const wanted = offered.slice(0, level === 3 ? 2 : 1);
  const asked = wanted.map((tool) => ask(tool, random));
  return {
    id: `generated_${level}_${seed}`,
    question: asked.map(({ words }) => words).join(' Then: '),
    functions: shuffled(offered, random).map(describe),
    answers: asked.map(({ answer }) => answer),
  };
}

function ask({ name, parameters, requests }: Told, random: Random): Asked {
  const drawn = Object.entries(parameters).map(([key, { values }]): readonly [string, Value] => [
    key,
    pick(values, random),
  ]);
  const words = drawn.reduce(
    (text, [key, value]) => text.replace(`{${key}}`, String(value)),
    pick(requests, random),
  );
  const possible = Object.fromEntries(drawn.map(([key, value]) => [key, [value]]));
  return { words, answer: { [name]: possible } };
}

function describe({ name, description, parameters }: Told): BfclFunction {
  const properties = Object.entries(parameters).map(([key, { description: about, values }]) => [
    key,
    { type: typeof values[0] === 'number' ? 'integer' : 'string', description: about },
  ]);
  return {
    name,
    description,
    parameters: {
      type: 'dict',
      properties: Object.fromEntries(properties),
      required: Object.keys(parameters),
    },
  };
}

function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  const left = [...items];
  return items.flatMap(() => left.splice(random.integer(left.length), 1));
}
