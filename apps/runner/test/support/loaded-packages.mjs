// Preloaded into a child process: the last line on standard error names the packages whose modules
// were loaded, those of the workspace by their folders.
import { registerHooks } from 'node:module';

const ours = /\/((?:packages|apps)\/[^/]+)\/src\//;
const installed = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/;
const packages = new Set();
registerHooks({
  load(url, context, next) {
    const name = (installed.exec(url) ?? ours.exec(url))?.[1];
    if (name !== undefined) packages.add(name);
    return next(url, context);
  },
});
process.on('exit', () => process.stderr.write(`${JSON.stringify([...packages])}\n`));
