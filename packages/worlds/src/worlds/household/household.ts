/** The state of one house, and the effects of commands. */
import type { Command } from './commands.js';
import { type House, kindOf } from './house.js';
import { openable, type Treatment, treatments } from './rooms.js';

export interface Household {
  /** Executes a command. Returns the observation, or undefined if the command has no effect. */
  act(command: Command): string | undefined;
  isDone(): boolean;
  /** Returns a string that is equal for equal states of the house. */
  key(): string;
}

const hand = 'hand';

export function createHousehold(house: House): Household {
  const places = new Map(house.places);
  const open = new Set<string>();
  const states = new Map<string, string>();
  const sliced = new Set<string>();
  let at: string | undefined;
  let litUnder: string | undefined;

  const held = () => [...places].find(([, place]) => place === hand)?.[0];
  const isOpen = (name: string) => !openable.has(kindOf(name)) || open.has(name);
  const thingsIn = (name: string): readonly string[] => [
    ...[...places].flatMap(([object, place]) => (place === name ? [object] : [])),
    ...(house.lamp?.at === name ? [house.lamp.name] : []),
  ];
  const preposition = (name: string) => (openable.has(kindOf(name)) ? 'In' : 'On');
  const show = (name: string): string =>
    isOpen(name)
      ? `${preposition(name)} the ${name}, you see ${listed(thingsIn(name))}.`
      : `The ${name} is closed.`;

  const go = (name: string) => {
    if (!house.receptacles.includes(name) || name === at) return undefined;
    at = name;
    return `You arrive at the ${name}. ${show(name)}`;
  };
  const setOpen = (name: string, wanted: boolean) => {
    if (name !== at || !openable.has(kindOf(name)) || open.has(name) === wanted) return undefined;
    if (!wanted) open.delete(name);
    else open.add(name);
    return wanted ? `You open the ${name}. ${show(name)}` : `You close the ${name}.`;
  };
  const take = (object: string, from: string) => {
    const isThere = places.get(object) === from && from === at && isOpen(from);
    if (!isThere || held() !== undefined) return undefined;
    places.set(object, hand);
    return `You pick up the ${object} from the ${from}.`;
  };
  const put = (object: string, to: string) => {
    if (held() !== object || to !== at || !isOpen(to)) return undefined;
    places.set(object, to);
    return `You put the ${object} in/on the ${to}.`;
  };
  const treat = (treatment: Treatment, object: string, appliance: string) => {
    const { appliance: kind, objects } = treatments[treatment];
    const works = kindOf(appliance) === kind && objects.some((each) => each === kindOf(object));
    if (held() !== object || appliance !== at || !works) return undefined;
    const other = treatment === 'clean' ? isTemperature : isClean;
    const kept = (states.get(object) ?? '').split(' ').filter((state) => other(state));
    states.set(object, [...kept, treatments[treatment].adjective].toSorted().join(' '));
    return `You ${treatment} the ${object} using the ${appliance}.`;
  };
  const slice = (object: string, tool: string) => {
    const isKnife = ['knife', 'butterknife'].includes(kindOf(tool));
    const isThere = at !== undefined && places.get(object) === at && isOpen(at);
    if (held() !== tool || !isKnife || !isThere || sliced.has(object)) return undefined;
    sliced.add(object);
    return `You slice the ${object} with the ${tool}.`;
  };
  const use = (name: string) => {
    if (house.lamp?.name !== name || house.lamp.at !== at) return undefined;
    litUnder = name;
    return `You turn on the ${name}.`;
  };
  const examine = (name: string) => {
    if (name === at) return show(name);
    const isNear =
      held() === name || (at !== undefined && isOpen(at) && thingsIn(at).includes(name));
    if (!isNear) return undefined;
    const state = [states.get(name) ?? '', sliced.has(name) ? 'sliced' : ''].join(' ').trim();
    return state === ''
      ? `There is nothing special about the ${name}.`
      : `The ${name} is ${state.replaceAll(' ', ' and ')}.`;
  };

  const act = (command: Command): string | undefined => {
    switch (command.verb) {
      case 'look':
        return at === undefined ? describeRoom(house) : `You are at the ${at}. ${show(at)}`;
      case 'inventory':
        return `You carry ${held() === undefined ? 'nothing' : `a ${held()}`}.`;
      case 'go':
        return go(command.name);
      case 'open':
      case 'close':
        return setOpen(command.name, command.verb === 'open');
      case 'take':
        return take(command.name, command.with);
      case 'put':
        return put(command.name, command.with);
      case 'slice':
        return slice(command.name, command.with);
      case 'use':
        return use(command.name);
      case 'examine':
        return examine(command.name);
      case 'heat':
      case 'cool':
      case 'clean':
        return treat(command.verb, command.name, command.with);
    }
  };

  const isDone = (): boolean => {
    const { type, object, target } = house.goal;
    if (type === 'look')
      return litUnder !== undefined && at === house.lamp?.at && kindOf(held() ?? '') === object;
    const fits = [...places].filter(
      ([name, place]) =>
        kindOf(name) === object && kindOf(place) === target && hasState(name, type),
    );
    const byPlace = Map.groupBy(fits, ([, place]) => place);
    const needed = type === 'two' ? 2 : 1;
    return [...byPlace.values()].some((names) => names.length >= needed);
  };
  const hasState = (name: string, type: string): boolean =>
    !(type in treatments) ||
    (states.get(name) ?? '').split(' ').includes(treatments[type as Treatment].adjective);

  return {
    act,
    isDone,
    key: () => {
      const treated = [...states].map(([name, state]) => [name, ...state.split(' ').toSorted()]);
      const sets = [[...places], [...open], treated, [...sliced]].map((set) =>
        set.map((each) => JSON.stringify(each)).toSorted(),
      );
      return JSON.stringify([at, litUnder, ...sets]);
    },
  };
}

const isClean = (state: string): boolean => state === 'clean';
const isTemperature = (state: string): boolean => state === 'hot' || state === 'cool';

/** Joins names into a phrase, such as `a mug 1, and a pan 2`. */
const listed = (names: readonly string[]): string => {
  const all = names.map((name) => `a ${name}`);
  const last = all.at(-1);
  if (last === undefined) return 'nothing';
  return all.length === 1 ? last : `${all.slice(0, -1).join(', ')}, and ${last}`;
};

export const describeRoom = ({ receptacles }: House): string =>
  `You are in the middle of a room. You see ${listed(receptacles)}.`;
