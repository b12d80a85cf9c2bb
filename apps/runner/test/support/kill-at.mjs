// Preloaded into a child process: kills it at one exact place, as a power cut would.
//   TRINITY_TEST_KILL='{"call":"commit","match":"","nth":3,"when":"before"}'
// `call` is what the process is about to do (rename, writeFile, append, writev, commit), `match` a part of the path (for rename of "from to"),
// `nth` which time, in one thread.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';

const { call, match, nth, when } = JSON.parse(process.env.TRINITY_TEST_KILL);
let seen = 0;

/** Wraps a function so that the process dies before or after the wanted call. */
function deadly(name, original, pathOf) {
  return function (...args) {
    const wanted = name === call && pathOf(args).includes(match) && ++seen === nth;
    if (wanted && when === 'before') die();
    const result = original.apply(this, args);
    if (!wanted) return result;
    return result instanceof Promise ? result.then(die) : die();
  };
}

const die = () => process.kill(process.pid, 'SIGKILL');
const descriptors = new Map();
const { openSync } = fs;

fs.openSync = (file, ...rest) => {
  const descriptor = openSync(file, ...rest);
  descriptors.set(descriptor, String(file));
  return descriptor;
};
fs.appendFileSync = deadly(
  'append',
  fs.appendFileSync,
  ([file]) => descriptors.get(file) ?? String(file),
);
fs.writevSync = deadly('writev', fs.writevSync, ([file]) => descriptors.get(file) ?? '');
fs.promises.rename = deadly('rename', fs.promises.rename, ([from, to]) => `${from} ${to}`);
fs.promises.writeFile = deadly('writeFile', fs.promises.writeFile, ([file]) => String(file));
// oxlint-disable-next-line typescript/unbound-method -- called with the database it was called on
const exec = DatabaseSync.prototype.exec;
const commit = deadly('commit', exec, () => '');
DatabaseSync.prototype.exec = function (sql) {
  return sql === 'COMMIT' ? commit.call(this, sql) : exec.call(this, sql);
};
syncBuiltinESMExports();
