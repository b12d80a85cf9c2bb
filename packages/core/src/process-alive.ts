/** Tests whether a process of this machine exists. */

/**
 * Also true for a process of another user, and for one that has ended but was not waited for (a
 * zombie).
 */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
