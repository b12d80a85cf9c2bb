/** Plans the commands that complete the task. */
import { type House, kindOf } from './house.js';
import { openable, type Treatment, treatments } from './rooms.js';

/**
 * Names of the solvers. `planner` knows where every object is. `search` visits one place after
 * another until it finds the object.
 */
export const experts = ['planner', 'search'] as const;

export function planOf(house: House, expert: (typeof experts)[number]): readonly string[] {
  const { type, object, target } = house.goal;
  const opened = new Set<string>();
  const visit: Visit = (name) => {
    if (!openable.has(kindOf(name)) || opened.has(name)) return [`go to ${name}`];
    opened.add(name);
    return [`go to ${name}`, `open ${name}`];
  };
  const find = expert === 'planner' ? visit : searching(house, visit);
  const wanted = [...house.places].filter(([name]) => kindOf(name) === object);
  const nearest = expert === 'planner' ? wanted : inOrderOf(house, wanted);
  const needed = nearest.slice(0, type === 'two' ? 2 : 1);
  const goal = house.receptacles.find((name) => kindOf(name) === target) ?? '';
  const treatment = type in treatments ? (type as Treatment) : undefined;
  const { lamp } = house;
  const all = needed.flatMap(([name, place]) => {
    const fetched = [...find(place), `take ${name} from ${place}`];
    if (lamp !== undefined) return [...fetched, ...find(lamp.at), `use ${lamp.name}`];
    const appliance = house.receptacles.find(
      (each) => treatment !== undefined && kindOf(each) === treatments[treatment].appliance,
    );
    const treated =
      appliance === undefined
        ? []
        : [`go to ${appliance}`, `${treatment} ${name} with ${appliance}`];
    return [...fetched, ...treated, ...visit(goal), `put ${name} in/on ${goal}`];
  });
  return withoutStandingStill(all);
}

type Visit = (place: string) => readonly string[];

/**
 * Wraps `visit` for a solver that does not know where objects are. The returned function visits all
 * unseen receptacles up to the wanted one, in the room's order. It leaves out receptacles of the
 * target's kind, in which the wanted objects never are.
 */
function searching({ receptacles, goal }: House, visit: Visit): Visit {
  const unseen = receptacles.filter((name) => kindOf(name) !== goal.target);
  return (place) => {
    const index = unseen.indexOf(place);
    return index < 0 ? visit(place) : unseen.splice(0, index + 1).flatMap(visit);
  };
}

type Placed = readonly [name: string, place: string];

const inOrderOf = ({ receptacles }: House, things: readonly Placed[]): readonly Placed[] =>
  things.toSorted(([, a], [, b]) => receptacles.indexOf(a) - receptacles.indexOf(b));

/** Drops each `go to` command that repeats the previous `go to` command. */
function withoutStandingStill(commands: readonly string[]): readonly string[] {
  let at = '';
  return commands.filter((command) => {
    if (!command.startsWith('go to ')) return true;
    const isNew = command !== at;
    at = command;
    return isNew;
  });
}
