/**
 * Redirects agents that specify their model by name (`model: 'openai/gpt-5'`) to the rollout's
 * model.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { WorkflowError } from '@trinity-rft/core';
import { gateway } from 'ai';

/**
 * Function that returns the AI SDK model object for a model name. The object may implement any
 * version of the SDK's model interface.
 */
export type ResolveModel = (modelId: string) => unknown;

interface DefaultProvider {
  readonly specificationVersion?: string;
  readonly languageModel: ResolveModel;
  readonly embeddingModel?: ResolveModel;
  /** Function that providers without a `specificationVersion` have instead of `embeddingModel`. */
  readonly textEmbeddingModel?: ResolveModel;
}

/** State shared by all copies of this package in the process, which plugins may load. */
interface Shared {
  readonly scopes: AsyncLocalStorage<ResolveModel>;
  /**
   * Provider that is installed as the default while `withDefaultProvider` calls are in progress. It
   * resolves other kinds of models, such as embedding models, with the provider that was the
   * default before or, if there was none, with the AI SDK's gateway.
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
 * Calls `work`. Within `work`, and everything that it starts, model names are resolved by
 * `resolve`. Concurrent calls are distinguished by their async context. If a model is called by
 * name outside of these contexts, for example from a queue that several rollouts share, the call
 * fails with WorkflowError AI_SDK_NO_SCOPE, because its rollout is unknown.
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
  const base: DefaultProvider = before ?? gateway;
  const router = Object.assign(Object.create(base) as object, {
    // A provider without a version would make the AI SDK convert the rollout's model as well.
    specificationVersion: base.specificationVersion ?? 'v4',
    embeddingModel: base.embeddingModel ?? base.textEmbeddingModel,
    languageModel: (modelId: string) => {
      const resolve = shared.scopes.getStore();
      if (resolve) return resolve(modelId);
      throw new WorkflowError(
        `The model "${modelId}" was requested outside of any run, while runs are in progress, ` +
          'so the call cannot be attributed to one. ' +
          'Call the model within the async context of its run (not from a queue that runs ' +
          'share), or pass the agent its model object.',
        { code: 'AI_SDK_NO_SCOPE' },
      );
    },
  });
  global.AI_SDK_DEFAULT_PROVIDER = router;
  return (shared.installed = { before, router, uses: 0 });
}

function uninstall(): void {
  const { installed } = shared;
  // Keeps a provider that other code has set in the meantime.
  if (installed && global.AI_SDK_DEFAULT_PROVIDER === installed.router)
    global.AI_SDK_DEFAULT_PROVIDER = installed.before;
  shared.installed = undefined;
}
