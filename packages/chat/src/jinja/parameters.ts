/** Binds the arguments of a call to parameters, and refuses unknown arguments. */
import type { Callable, Keywords, Value } from './values.js';

/**
 * Returns one value per parameter, in the order of the parameters; undefined for a parameter
 * without an argument.
 * @param name name of the function, for error messages
 * @throws Error for an argument without a parameter
 */
export function bind(
  name: string,
  parameters: readonly string[],
  args: readonly Value[],
  keywords: Keywords,
): readonly Value[] {
  if (args.length > parameters.length)
    throw new Error(`${name} takes ${parameters.length} arguments, not ${args.length}`);
  const open = parameters.slice(args.length);
  for (const keyword of keywords.keys()) {
    if (!open.includes(keyword)) throw new Error(`${name} takes no argument "${keyword}"`);
  }
  return keywords.size === 0 ? args : [...args, ...open.map((each) => keywords.get(each))];
}

/**
 * Methods of a type of object, by name. Each consists of the names of its parameters and the
 * function that implements it.
 */
export type Methods<T> = Readonly<
  Record<
    string,
    readonly [parameters: readonly string[], apply: (object: T, args: readonly Value[]) => Value]
  >
>;

/** Returns the method of this name, bound to the object; undefined if there is none. */
export function methodOf<T>(methods: Methods<T>, object: T, name: string): Callable | undefined {
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
  if (!method) return undefined;
  const [parameters, apply] = method;
  return (args, keywords) => apply(object, bind(name, parameters, args, keywords));
}
