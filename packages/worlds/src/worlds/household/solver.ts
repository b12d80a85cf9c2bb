/** The commands that fulfil the task, by somebody who knows where everything is. */
import { type House, kindOf } from './house.js';
import { openable, type Treatment, treatments } from './rooms.js';

export function planOf(house: House): readonly string[] {
  const { type, object, target } = house.goal;
  const opened = new Set<string>();
  const visit = (name: string): readonly string[] => {
    if (!openable.has(kindOf(name)) || opened.has(name)) return [`go to ${name}`];
    opened.add(name);
    return [`go to ${name}`, `open ${name}`];
  };
  const wanted = [...house.places].filter(([name]) => kindOf(name) === object);
  const needed = wanted.slice(0, type === 'two' ? 2 : 1);
  const goal = house.receptacles.find((name) => kindOf(name) === target) ?? '';
  const treatment = type in treatments ? (type as Treatment) : undefined;
  const { lamp } = house;
  const all = needed.flatMap(([name, place]) => {
    const fetched = [...visit(place), `take ${name} from ${place}`];
    if (lamp !== undefined) return [...fetched, `go to ${lamp.at}`, `use ${lamp.name}`];
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

/** Going where one already is does nothing. */
function withoutStandingStill(commands: readonly string[]): readonly string[] {
  let at = '';
  return commands.filter((command) => {
    if (!command.startsWith('go to ')) return true;
    const isNew = command !== at;
    at = command;
    return isNew;
  });
}
