/** The Node flags that a worker thread starts with. */

/**
 * A worker inherits the flags of the process but fails on `--input-type`, which `node --eval` sets.
 * In that case only the flags that resolve modules are passed on.
 */
export function threadFlags(): { readonly execArgv?: string[] } {
  if (!process.execArgv.some((flag) => flag.startsWith('--input-type'))) return {};
  return { execArgv: process.execArgv.filter((flag) => /^--(?:conditions|import)=/.test(flag)) };
}
