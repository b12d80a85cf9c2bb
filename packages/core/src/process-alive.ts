/** Decides whether a process of this machine is there. */

/** Also true of one that belongs to another user, and of one that has ended and was not waited for. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
