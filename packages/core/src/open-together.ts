/** Resources that must be closed on every path, also where opening the next one fails. */

export interface Closable {
  close(): Promise<void>;
}

/** Resources that are opened one after the other and closed together. */
export interface ResourceStack extends Closable {
  /** Closes `resource` with the stack. */
  use<T extends Closable>(resource: T): T;
  /** Closes the resources in reverse order; rejects with the first error once all are closed. */
  close(): Promise<void>;
}

/** Calls `open`. If it throws, closes the resources on the stack. */
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
