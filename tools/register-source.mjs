// Lets plain Node run the workspace's TypeScript sources, also in the worker threads and child
// processes that they start:
//   node --conditions=@trinity-rft/source --import ./tools/register-source.mjs bench/bench.ts
// Node strips the types itself, but does not resolve `./x.js` in a TypeScript file to `./x.ts`, as tsc,
// tsup and vitest do.
import { existsSync } from 'node:fs';
import { enableCompileCache, registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

// Node strips types with a WebAssembly module in every thread. Once a thread has loaded enough files,
// V8 replaces the module's import wrappers by faster ones, and several threads that do so at once can
// crash the process ("Check failed: jit_page.has_value()"). A budget of calls that is never used up
// keeps the first wrappers.
setFlagsFromString('--wasm-wrapper-tiering-budget=1000000000');

// Without a cache, every thread and process would strip and compile every file again.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url)));

registerHooks({
  resolve(specifier, context, nextResolve) {
    const url = sourceOf(specifier, context.parentURL);
    if (url === undefined) return nextResolve(specifier, context);
    // Returned here, so that Node does not look up the real path and package.json of each of a thousand
    // files.
    return { url, format: 'module-typescript', shortCircuit: true };
  },
});

function sourceOf(specifier, parentURL) {
  if (!/^(\.{1,2}\/|file:).*\.js$/.test(specifier)) return undefined;
  const base = parentURL?.startsWith('file:') ? parentURL : undefined;
  if (base === undefined && !specifier.startsWith('file:')) return undefined;
  const url = new URL(specifier, base);
  if (url.pathname.includes('/node_modules/') || existsSync(fileURLToPath(url))) return undefined;
  url.pathname = url.pathname.replace(/\.js$/, '.ts');
  return existsSync(fileURLToPath(url)) ? url.href : undefined;
}
