import { fileURLToPath } from 'node:url';

/** Folder with the files of the page: `index.html` and the files that it loads. */
export function pageFolder(): string {
  const isSource = import.meta.url.endsWith('.ts');
  return fileURLToPath(new URL(isSource ? '../dist/page' : './page', import.meta.url));
}
