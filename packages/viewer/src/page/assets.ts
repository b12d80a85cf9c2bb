/** The files of the page. */
import { readFile } from 'node:fs/promises';
import { html } from './html.js';
import { style } from './style.js';

export interface Assets {
  readonly html: string;
  readonly style: string;
  /** JavaScript. */
  readonly client: string;
}

/** The client is read beside the built package, or from its source when the package runs from source. */
export async function readAssets(): Promise<Assets> {
  return { html, style, client: await readClient() };
}

async function readClient(): Promise<string> {
  if (!import.meta.url.endsWith('.ts'))
    return readFile(new URL('client.js', import.meta.url), 'utf8');
  const { stripTypeScriptTypes } = process.getBuiltinModule('node:module');
  return stripTypeScriptTypes(await readFile(new URL('client.ts', import.meta.url), 'utf8'));
}
