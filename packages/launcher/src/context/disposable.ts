/** Resources that must be closed. */
import type { Closable } from '@trinity-rft/core/support';

/** Makes a resource usable with `await using`, which closes it also after an error. */
export function disposable<T extends Closable>(resource: T): T & AsyncDisposable {
  return Object.assign(resource, { [Symbol.asyncDispose]: () => resource.close() });
}
