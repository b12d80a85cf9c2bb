/**
 * Draws and reads lakes, and finds paths. A lake is a square of ice and holes with a start and a
 * goal.
 */
import { type Random, createRandom } from '@trinity-rft/core';

/** A lake whose cells are numbered row by row, from 0. The start is ice. */
export interface Lake {
  readonly size: number;
  readonly holes: ReadonlySet<number>;
  readonly start: number;
  readonly goal: number;
}

export interface LakeOptions {
  /** Number of cells on a side, at least 2. */
  readonly size: number;
  /** Probability that a cell is ice rather than a hole. */
  readonly p: number;
  readonly seed: number;
  /** Maximum length of the shortest path to the goal. */
  readonly envMaxSteps: number;
}

export const directions = ['left', 'down', 'right', 'up'] as const;
export type Direction = (typeof directions)[number];

/** Draws lakes until one has a path to the goal of at most `envMaxSteps` steps. */
export function drawLake(options: LakeOptions): Lake {
  const random = createRandom(options.seed);
  for (;;) {
    const lake = anyLake(options, random);
    const path = shortestPath(lake);
    if (path !== undefined && path.length <= options.envMaxSteps) return lake;
  }
}

function anyLake({ size, p }: LakeOptions, random: Random): Lake {
  const cells = size * size;
  const start = random.integer(cells);
  const goal = (start + 1 + random.integer(cells - 1)) % cells;
  const holes = new Set<number>();
  for (let cell = 0; cell < cells; cell++)
    if (random.next() >= p && cell !== start && cell !== goal) holes.add(cell);
  return { size, holes, start, goal };
}

/**
 * Reads a lake from rows of `S`, `F`, `H` and `G`. @returns undefined if the rows are not a lake
 */
export function readLake(rows: readonly string[]): Lake | undefined {
  const cells = rows.join('');
  const size = rows.length;
  const isSquare = rows.every((row) => row.length === size);
  const count = (mark: string) => cells.split(mark).length - 1;
  if (!isSquare || /[^SFHG]/.test(cells) || count('S') !== 1 || count('G') !== 1) return undefined;
  const holes = new Set([...cells].flatMap((mark, cell) => (mark === 'H' ? [cell] : [])));
  return { size, holes, start: cells.indexOf('S'), goal: cells.indexOf('G') };
}

/**
 * Returns the cell that a step in a direction leads to, which is the same cell if the step would
 * leave the lake.
 */
export function move({ size }: Lake, cell: number, direction: Direction): number {
  const column = cell % size;
  if (direction === 'left') return column === 0 ? cell : cell - 1;
  if (direction === 'right') return column === size - 1 ? cell : cell + 1;
  const next = direction === 'up' ? cell - size : cell + size;
  return next < 0 || next >= size * size ? cell : next;
}

/**
 * Returns a shortest path from a cell to the goal, found by breadth-first search, or undefined if
 * there is none.
 */
export function shortestPath(lake: Lake, from = lake.start): readonly Direction[] | undefined {
  const paths = new Map<number, readonly Direction[]>([[from, []]]);
  for (const [cell, path] of paths) {
    if (cell === lake.goal) return path;
    for (const direction of directions) {
      const next = move(lake, cell, direction);
      if (!paths.has(next) && !lake.holes.has(next)) paths.set(next, [...path, direction]);
    }
  }
  return undefined;
}
