// Preloaded into a child process: the last line on standard error names the packages whose modules
// were loaded.
import { registerHooks } from 'node:module';

const packages = new Set();
registerHooks({
  load(url, context, next) {
    const [, name] = /\/((?:packages|apps)\/[^/]+)\/src\//.exec(url) ?? [];
    if (name !== undefined) packages.add(name);
    return next(url, context);
  },
});
process.on('exit', () => process.stderr.write(`${JSON.stringify([...packages])}\n`));
