/** Flags of Node that a worker thread is started with. */

/**
 * Threads take over the flags of the process, but refuse the one that says what `node --eval` and
 * stdin hold. Beside it only those are kept that say where modules are found.
 */
export function threadFlags(): { readonly execArgv?: string[] } {
  if (!process.execArgv.some((flag) => flag.startsWith('--input-type'))) return {};
  return { execArgv: process.execArgv.filter((flag) => /^--(?:conditions|import)=/.test(flag)) };
}
