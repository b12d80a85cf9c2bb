/** Where the built page is. */
import { fileURLToPath } from 'node:url';

/** The folder with the files of the page: `index.html` and what it names. */
export function pageFolder(): string {
  const isSource = import.meta.url.endsWith('.ts');
  return fileURLToPath(new URL(isSource ? '../dist/page' : './page', import.meta.url));
}
