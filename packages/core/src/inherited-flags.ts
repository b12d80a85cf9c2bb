/** Node flags of worker threads and child processes that run a module of ours. */

/**
 * Returns the Node flags with which a thread or a child process runs a file. It inherits the flags
 * of this process by default. But Node rejects `--input-type`, a flag that is used with
 * `node --eval` and programs on stdin, for files. If this flag is set, the thread or child process
 * gets only the flags that load modules or choose their exports. A thread cannot be given flags of
 * the process, such as `--max-old-space-size`.
 */
export function inheritedFlags(): { readonly execArgv?: string[] } {
  if (!process.execArgv.some((flag) => flag.startsWith('--input-type'))) return {};
  const execArgv = process.execArgv.filter((flag, i, flags) => {
    const before = flags[i - 1] ?? '';
    return moduleFlag.test(flag) || (moduleFlag.test(before) && !before.includes('='));
  });
  return { execArgv };
}

/** Flag that loads a module or chooses exports. Its value follows after "=", or as the next flag. */
const moduleFlag =
  /^(?:--conditions|-C|--import|--require|-r|--loader|--experimental-loader)(?:=|$)/;
