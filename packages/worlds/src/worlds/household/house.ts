/** Houses of one room with a task, generated from a seed. */
import { type Random, createRandom } from '@trinity-rft/core';
import { pick } from '../shared/pick.js';
import { openable, type Room, rooms, type Treatment, treatments } from './rooms.js';

/** Task types as ALFWorld numbers them, from 1. */
export const taskTypes = ['place', 'look', 'clean', 'heat', 'cool', 'two'] as const;
type TaskType = (typeof taskTypes)[number];

export interface Goal {
  readonly type: TaskType;
  /** Kind of the object that the task is about. */
  readonly object: string;
  /** Kind of the receptacle; for `look`, kind of the lamp. */
  readonly target: string;
}

export interface House {
  readonly receptacles: readonly string[];
  /** Initial location of each object, keyed by the object's name. */
  readonly places: ReadonlyMap<string, string>;
  readonly lamp?: { readonly name: string; readonly at: string };
  readonly goal: Goal;
}

export interface HouseOptions {
  readonly seed: number;
  readonly type: TaskType;
  /** Level that determines the number of receptacles and objects, from 1 (few) to 3 (many). */
  readonly level: number;
}

const sizes = [
  { most: 1, kinds: 4, objects: 4 },
  { most: 2, kinds: 7, objects: 10 },
  { most: 6, kinds: 12, objects: 22 },
] as const;

export function drawHouse({ seed, type, level }: HouseOptions): House {
  const random = createRandom(seed);
  const { most, kinds, objects } = sizes[level - 1] ?? sizes[1];
  const { room, goal } = drawGoal(type, random);
  const needed = new Set([applianceOf(type) ?? goal.target, goal.target]);
  if (type === 'look') needed.clear();
  const others = random.shuffle(Object.keys(room.receptacles).filter((kind) => !needed.has(kind)));
  const chosen = [...needed, ...others.slice(0, Math.max(2, kinds - needed.size))];
  const receptacles = chosen
    .toSorted()
    .flatMap((kind) => numbered(kind, Math.min(most, room.receptacles[kind] ?? 1)));
  const wanted = Array.from({ length: type === 'two' ? 2 : 1 }, () => goal.object);
  const distractors = Array.from({ length: objects }, () => pick(room.objects, random));
  return {
    receptacles,
    places: placed(
      [...wanted, ...distractors.filter((kind) => kind !== goal.object)],
      receptacles,
      goal,
      random,
    ),
    lamp:
      type === 'look'
        ? { name: `${goal.target} 1`, at: pick(surfaces(receptacles), random) }
        : undefined,
    goal,
  };
}

const isTreatment = (type: string): type is Treatment => type in treatments;
const applianceOf = (type: TaskType): string | undefined =>
  isTreatment(type) ? treatments[type].appliance : undefined;
const numbered = (kind: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${kind} ${index + 1}`);

/** Draws a goal, and a room with the receptacles and objects for it. */
function drawGoal(type: TaskType, random: Random): { readonly room: Room; readonly goal: Goal } {
  const appliance = applianceOf(type);
  const treatable: readonly string[] | undefined = isTreatment(type)
    ? treatments[type].objects
    : undefined;
  const fits = (room: Room) =>
    type === 'look'
      ? room.lamp !== undefined
      : appliance === undefined || appliance in room.receptacles;
  const room = pick(Object.values(rooms).filter(fits), random);
  const object = pick(
    room.objects.filter((kind) => treatable?.includes(kind) ?? true),
    random,
  );
  const target = pick(
    Object.keys(room.receptacles).filter((kind) => kind !== appliance),
    random,
  );
  return { room, goal: { type, object, target: type === 'look' ? (room.lamp ?? '') : target } };
}

/**
 * Draws the initial location of each object. The objects that the goal asks for never start at its
 * target.
 */
function placed(
  kinds: readonly string[],
  receptacles: readonly string[],
  goal: Goal,
  random: Random,
): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  return new Map(
    kinds.map((kind) => {
      const number = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, number);
      const allowed = receptacles.filter((name) => kindOf(name) !== goal.target);
      return [`${kind} ${number}`, pick(kind === goal.object ? allowed : receptacles, random)];
    }),
  );
}

/**
 * Returns the receptacles on which the lamp can stand: those that cannot be closed, or all if every
 * receptacle can be closed.
 */
const surfaces = (receptacles: readonly string[]): readonly string[] => {
  const open = receptacles.filter((name) => !openable.has(kindOf(name)));
  return open.length === 0 ? receptacles : open;
};

/**
 * Returns the kind of an object or receptacle from its name. For example, `kindOf('mug 2')` is
 * `mug`.
 */
export const kindOf = (name: string): string => name.replace(/ \d+$/, '');

/** Returns the sentence that states the goal to the policy. */
export function sayGoal({ type, object, target }: Goal): string {
  if (type === 'place') return `put some ${object} in ${target}.`;
  if (type === 'two') return `put two ${object} in ${target}.`;
  if (type === 'look') return `look at ${object} under the ${target}.`;
  return `put a ${treatments[type].adjective} ${object} in ${target}.`;
}
