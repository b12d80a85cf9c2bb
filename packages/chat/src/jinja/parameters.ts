/** Binds arguments to parameters, so that no argument is ignored. */
import type { Callable, Keywords, Value } from './values.js';

/**
 * Returns the arguments in the order of the parameters. The value of a parameter without an
 * argument is undefined.
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
 * Methods of a type of object, by name. A method consists of the names of its parameters and a
 * function.
 */
export type Methods<T> = Readonly<
  Record<
    string,
    readonly [parameters: readonly string[], apply: (object: T, args: readonly Value[]) => Value]
  >
>;

/** The method, bound to the object; undefined if there is no method of this name. */
export function methodOf<T>(methods: Methods<T>, object: T, name: string): Callable | undefined {
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
  if (!method) return undefined;
  const [parameters, apply] = method;
  return (args, keywords) => apply(object, bind(name, parameters, args, keywords));
}
