// Preloaded into a child process, which it kills at one exact place, as a power cut would.
//   TRINITY_TEST_KILL='{"call":"commit","match":"","nth":3,"when":"before"}'
// `call` is the operation (rename, writeFile, append, writev, commit), `match` a part of its path
// ("from to" for rename), and `nth` the number of the matching call within a thread. The value may
// also be a list of such places: at a place with `copy`, the folder `from` is copied to `to` as it
// is on disk, which is the state that a kill would leave, and the process continues.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';

const points = [JSON.parse(process.env.TRINITY_TEST_KILL)].flat();
const seen = new Map(points.map((point) => [point, 0]));

/** Wraps a function so that the process dies, or its files are copied, before or after the wanted call. */
function deadly(name, original, pathOf) {
  return function (...args) {
    const wanted = points.filter(
      (point) => name === point.call && pathOf(args).includes(point.match) && isNth(point),
    );
    const at = (when) => wanted.filter((point) => point.when === when).forEach(reach);
    at('before');
    const result = original.apply(this, args);
    if (wanted.length === 0) return result;
    if (!(result instanceof Promise)) {
      at('after');
      return result;
    }
    return result.then((value) => {
      at('after');
      return value;
    });
  };
}

function isNth(point) {
  seen.set(point, seen.get(point) + 1);
  return seen.get(point) === point.nth;
}

function reach({ copy }) {
  // Another process makes the copy: if this process closed a copied database, SQLite's locks on the
  // original would be released.
  if (copy) execFileSync('cp', ['-r', copy.from, copy.to]);
  else process.kill(process.pid, 'SIGKILL');
}

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
// The transaction that creates the tables of an experience store is no place.
let createsTables = false;
DatabaseSync.prototype.exec = function (sql) {
  if (sql === 'COMMIT' && !createsTables) return commit.call(this, sql);
  createsTables = sql !== 'COMMIT' && (createsTables || /CREATE TABLE experience\b/.test(sql));
  return exec.call(this, sql);
};
syncBuiltinESMExports();
