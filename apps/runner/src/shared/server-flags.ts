/**
 * V8 flags for a process that serves: garbage collection in short steps keeps the slowest requests
 * fast, and a small young generation saves memory.
 */

export const serverFlags: readonly string[] = ['--max-semi-space-size=4', '--v8-pool-size=1'];

/**
 * Restarts this process with the flags that are missing, under the same process id, so that
 * signals, exit codes and open streams are preserved. Flags that are already set, also in
 * `NODE_OPTIONS`, keep their values. A no-op if Node.js cannot replace the process (on Windows, or
 * before 22.15), or if a parent process has an IPC channel to this process. Removes flags that have
 * these values from `process.execArgv`, because child processes may compute. Child processes still
 * get flags of `NODE_OPTIONS`.
 */
export function restartWithServerFlags(): void {
  const given = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/)];
  const isSet = (flag: string): boolean => {
    const [name = flag] = flag.split('=');
    return given.some((other) => other.split('=')[0]?.replaceAll('_', '-') === name);
  };
  const missing = serverFlags.filter((flag) => !isSet(flag));
  const canReplace = process.platform !== 'win32' && typeof process.execve === 'function';
  const { execPath, execArgv, argv } = process;
  process.execArgv = execArgv.filter((flag) => !serverFlags.includes(flag));
  if (missing.length === 0 || !canReplace || process.channel) return;
  process.execve?.(execPath, [execPath, ...execArgv, ...missing, ...argv.slice(1)], process.env);
}

/** Returns the program and first arguments that start this program in another process. */
export const ownCommand = (): readonly [string, ...string[]] => [
  process.execPath,
  ...process.execArgv,
  process.argv[1] ?? '',
];
