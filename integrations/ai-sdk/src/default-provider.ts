/**
 * Models that an agent names as text, `model: 'openai/gpt-5'`, served by the run that the call
 * belongs to.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { WorkflowError } from '@trinity-rft/core';

/** Resolves the name of a model to a model object of the AI SDK, any version of its interface. */
export type ResolveModel = (modelId: string) => unknown;

interface DefaultProvider {
  readonly specificationVersion?: string;
  readonly languageModel: ResolveModel;
}

/** One per process, also when this package is loaded twice: plugins may bring a copy. */
interface Shared {
  readonly scopes: AsyncLocalStorage<ResolveModel>;
  /**
   * While scopes are open. `before` is the provider that was there; it keeps embeddings, images and
   * the like.
   */
  installed?:
    | {
        readonly before: DefaultProvider | undefined;
        readonly router: DefaultProvider;
        uses: number;
      }
    | undefined;
}

const key = Symbol.for('trinity-rft.ai-sdk.default-provider');
const global = globalThis as {
  AI_SDK_DEFAULT_PROVIDER?: DefaultProvider | undefined;
  [key]?: Shared;
};
const shared = (global[key] ??= { scopes: new AsyncLocalStorage() });

/**
 * While `work` runs, and in everything it starts, the names of language models stand for what
 * `resolve` gives. Scopes may run side by side: each call finds its own through the async context.
 * A call that belongs to none, because it was queued or scheduled by somebody else, is refused
 * rather than served by a guess. @throws WorkflowError AI_SDK_NO_SCOPE from such a call
 */
export async function withDefaultProvider<Result>(
  resolve: ResolveModel,
  work: () => Promise<Result>,
): Promise<Result> {
  const use = install();
  use.uses++;
  try {
    return await shared.scopes.run(resolve, work);
  } finally {
    use.uses--;
    if (use.uses === 0) uninstall();
  }
}

function install(): NonNullable<Shared['installed']> {
  if (shared.installed) return shared.installed;
  const before = global.AI_SDK_DEFAULT_PROVIDER;
  const router = Object.assign(Object.create(before ?? null) as object, {
    specificationVersion: before?.specificationVersion ?? 'v4',
    languageModel: (modelId: string) => {
      const resolve = shared.scopes.getStore();
      if (resolve) return resolve(modelId);
      throw new WorkflowError(
        `The model "${modelId}" was asked for outside of any run, while runs are in progress: whose call it is cannot be known. ` +
          'Call the model within the async context of the run (no queue that several runs share), or give the agent its model object.',
        { code: 'AI_SDK_NO_SCOPE' },
      );
    },
  });
  global.AI_SDK_DEFAULT_PROVIDER = router;
  return (shared.installed = { before, router, uses: 0 });
}

function uninstall(): void {
  const { installed } = shared;
  // Somebody else may have set it meanwhile: theirs stays.
  if (installed && global.AI_SDK_DEFAULT_PROVIDER === installed.router)
    global.AI_SDK_DEFAULT_PROVIDER = installed.before;
  shared.installed = undefined;
}
