/** Builds the page from its sources. */
import path from 'node:path';
import { build } from 'vite';

export async function buildPageInto(outDir: string): Promise<void> {
  const configFile = path.join(import.meta.dirname, '../vite.config.ts');
  await build({ configFile, build: { outDir }, logLevel: 'error' });
}
