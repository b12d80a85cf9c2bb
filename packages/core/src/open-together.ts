/** Opens several resources so that all are closed if opening a later one fails. */

export interface Closable {
  close(): Promise<void>;
}

/** A stack of resources that are opened one after the other and closed together. */
export interface ResourceStack extends Closable {
  /** Adds `resource` to the stack, and returns it. The resource is closed with the stack. */
  use<T extends Closable>(resource: T): T;
  /**
   * Closes the resources in reverse order. If some cannot be closed, closes the others and then
   * rejects with the first error.
   */
  close(): Promise<void>;
}

/** Calls `open` and returns its result. If `open` throws, closes the resources on the stack. */
export async function openTogether<T>(open: (stack: ResourceStack) => Promise<T>): Promise<T> {
  const resources: Closable[] = [];
  const stack: ResourceStack = {
    use: (resource) => {
      resources.push(resource);
      return resource;
    },
    close: async () => {
      const errors: unknown[] = [];
      for (const resource of resources.splice(0).toReversed())
        await resource.close().catch((error: unknown) => errors.push(error));
      if (errors.length > 0) throw errors[0];
    },
  };
  try {
    return await open(stack);
  } catch (error) {
    await stack.close().catch(() => undefined);
    throw error;
  }
}
