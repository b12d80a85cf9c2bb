/** Resources that close at the end of a block, also after an error. */

/** For `await using`. */
export function disposable<T extends { close(): Promise<void> }>(resource: T): T & AsyncDisposable {
  return Object.assign(resource, { [Symbol.asyncDispose]: () => resource.close() });
}
