/** A folder for one test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';

/** Gives each test of the file an empty folder, and removes it afterwards. */
export function useFolder(): (...parts: readonly string[]) => string {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'trinity-monitor-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  return (...parts) => path.join(folder, ...parts);
}
