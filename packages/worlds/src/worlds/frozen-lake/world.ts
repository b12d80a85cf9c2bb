/** One walk over a lake. */
import { createRandom } from '@trinity-rft/core';
import type { Action, World } from '@trinity-rft/environment';
import { refuse } from '../shared/actions.js';
import { type Direction, directions, type Lake, move } from './lake.js';

const instructions = `You stand on a frozen lake. Walk to the goal without falling into a hole.
P is you, G the goal, _ ice, O a hole. Each step goes to the next cell up, down, left or right.
The reward is 1 at the goal and 0 in a hole. Plan the shortest way.
Think, then end every answer with one step in triple backticks, such as \`\`\`Up\`\`\`.`;

/**
 * Creates the world of one walk over a lake.
 * @param slipSeed seed of random slips, or undefined if the ice is not slippery
 */
export function walk(lake: Lake, slipSeed: number | undefined): World {
  let cell = lake.start;
  const slip = slipSeed === undefined ? undefined : createRandom(slipSeed);
  return {
    instructions,
    observation: `${draw(lake, cell)}\nWhat is your next step?`,
    step: (action) => {
      const wanted = readStep(action);
      if (wanted === undefined) return refuse(unknownStep);
      const next = move(lake, cell, slip === undefined ? wanted : slipped(wanted, slip.integer(3)));
      if (next === cell && slip === undefined) return refuse(atEdge(wanted));
      cell = next;
      return arrive(lake, cell);
    },
    stateKey: () => String(cell),
  };
}

const unknownStep = 'That is no step. Write ```Up```, ```Down```, ```Left``` or ```Right```.';
const atEdge = (direction: Direction) => `You cannot go ${direction}: the lake ends there.`;

function arrive(lake: Lake, cell: number) {
  if (cell === lake.goal) return { observation: 'You reached the goal.', reward: 1, done: true };
  if (lake.holes.has(cell)) return { observation: 'You fell into a hole.', reward: 0, done: true };
  return { observation: draw(lake, cell), reward: 0, done: false };
}

/**
 * Parses an action, which is the name of a direction or its number in Trinity-RFT: left 1, down 2,
 * right 3, up 4.
 */
function readStep(action: Action): Direction | undefined {
  if (action.type !== 'text') return undefined;
  const word = action.text.trim().toLowerCase();
  return directions.find((name, index) => name === word || String(index + 1) === word);
}

/**
 * Returns the wanted direction or one of the two perpendicular directions, each with probability
 * 1/3.
 * @param third random integer from 0 to 2
 */
function slipped(wanted: Direction, third: number): Direction {
  const index = (directions.indexOf(wanted) + third + 3) % 4;
  return directions[index] ?? wanted;
}

function draw(lake: Lake, player: number): string {
  const mark = (cell: number) =>
    cell === player ? 'P' : cell === lake.goal ? 'G' : lake.holes.has(cell) ? 'O' : '_';
  const row = (index: number) =>
    Array.from({ length: lake.size }, (_, column) => mark(index * lake.size + column)).join(' ');
  return Array.from({ length: lake.size }, (_, index) => row(index)).join('\n');
}

/** Returns the number of the player's cell in an observation. */
export const readPlayer = (observation: string): number =>
  [...observation.matchAll(/[P_OG](?= |$)/gm)].findIndex(([mark]) => mark === 'P');
