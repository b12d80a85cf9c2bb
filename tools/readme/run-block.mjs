// Runs an example of a Markdown file, read from standard input, as if it were at the given path, from
// which its imports are resolved. The working directory is the caller's.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

const entry = pathToFileURL(process.argv[2]).href;
const source = readFileSync(0, 'utf8');

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === entry
      ? { url: entry, format: 'module-typescript', shortCircuit: true }
      : next(specifier, context),
  load: (url, context, next) =>
    url === entry
      ? { format: 'module-typescript', source, shortCircuit: true }
      : next(url, context),
});

await import(entry);
