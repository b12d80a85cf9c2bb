/**
 * Node flags that a worker thread is started with. Threads inherit the flags of the process, but
 * Node rejects `--input-type` for them, which `node --eval` and programs on stdin set. Then only
 * the flags that decide how modules are found are passed on.
 */
export function threadFlags(): { readonly execArgv?: string[] } {
  if (!process.execArgv.some((flag) => flag.startsWith('--input-type'))) return {};
  return { execArgv: process.execArgv.filter((flag) => /^--(?:conditions|import)=/.test(flag)) };
}
