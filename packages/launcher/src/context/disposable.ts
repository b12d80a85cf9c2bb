import type { Closable } from '@trinity-rft/core/support';

/** Makes a resource usable with `await using`, which closes the resource even after an error. */
export function disposable<T extends Closable>(resource: T): T & AsyncDisposable {
  return Object.assign(resource, { [Symbol.asyncDispose]: () => resource.close() });
}
