/** Provides this program's own packages to plugins. */
import { createRequire } from 'node:module';
import * as algorithm from '@trinity-rft/algorithm';
import * as core from '@trinity-rft/core';
import { ConfigError } from '@trinity-rft/core';
import { didYouMean } from '@trinity-rft/core/support';
import * as reward from '@trinity-rft/workflow/reward';
import * as workflow from '@trinity-rft/workflow';
import { environment } from '../outer/outer.js';

type Exports = Readonly<Record<string, unknown>>;

/** Packages that plugins usually import. */
const loaded: Readonly<Record<string, Exports>> = {
  '@trinity-rft/algorithm': algorithm,
  '@trinity-rft/core': core,
  '@trinity-rft/environment': environment,
  '@trinity-rft/workflow': workflow,
  '@trinity-rft/workflow/reward': reward,
};

/** Other packages that a plugin may import. They are loaded when a plugin imports them. */
const others = [
  'buffer',
  'chat',
  'chat/gguf',
  'config',
  'core/engine',
  'core/store',
  'core/support',
  'engine-onnx',
  'environment/playing',
  'explorer',
  'launcher',
  'model',
  'monitor',
  'monitor/telemetry',
  'serve',
  'synchronizer',
  'trainer',
  'worlds',
].map((name) => `@trinity-rft/${name}`);

/**
 * Returns this program's packages for the modules of plugins. Plugins therefore need not install
 * these packages. Works from sources and from an installation.
 */
export function ownPackages(): Record<string, Exports> {
  const require = createRequire(import.meta.url);
  const packages: Record<string, Exports> = {};
  for (const [name, exports] of Object.entries(loaded)) packages[name] = explained(name, exports);
  for (const name of others)
    Object.defineProperty(packages, name, {
      enumerable: true,
      get: () => explained(name, require(name) as Exports),
    });
  return packages;
}

/**
 * Wraps the exports of a package, so that reading an unknown name throws an error. The error
 * suggests a package that exports this name, or a similar name.
 */
function explained(name: string, exports: Exports): Exports {
  const isMissing = (key: string | symbol): key is string =>
    typeof key === 'string' && !(key in exports) && !asksWhatItIs.has(key);
  return new Proxy(
    { ...exports },
    {
      // The loader calls `has` before it reads an export.
      has: (target, key) => Reflect.has(target, key) || isMissing(key),
      get: (target, key) => {
        if (!isMissing(key)) return Reflect.get(target, key) as unknown;
        throw new ConfigError(missing(name, key, Object.keys(exports)), { code: 'NO_EXPORT' });
      },
    },
  );
}

/** Keys that module loaders read from every module, and for which no error is thrown. */
const asksWhatItIs = new Set([
  'default',
  'then',
  '__esModule',
  'toJSON',
  'toString',
  'module.exports',
]);

function missing(name: string, key: string, known: readonly string[]): string {
  const owner = Object.keys(loaded).find((other) => key in (loaded[other] ?? {}));
  const cure =
    owner === undefined ? didYouMean(key, known) : ` Import it from ${owner}, which exports it.`;
  return `${name} exports no "${key}".${cure}`;
}
