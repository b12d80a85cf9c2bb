import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

/** Messages of `loadPeer` for packages of a project, in a separate Node process. */
async function messageFor(packages: Readonly<Record<string, string>>): Promise<string> {
  const project = await mkdtemp(path.join(tmpdir(), 'trinity-peer-'));
  onTestFinished(() => rm(project, { recursive: true }));
  for (const [name, source] of Object.entries(packages)) {
    const folder = path.join(project, 'node_modules', name);
    await mkdir(folder, { recursive: true });
    await writeFile(
      path.join(folder, 'package.json'),
      `{"name":"${name}","exports":"./index.mjs"}`,
    );
    await writeFile(path.join(folder, 'index.mjs'), source);
  }
  const program = `
    import { loadPeer } from ${JSON.stringify(path.join(import.meta.dirname, 'support.ts'))};
    const loaded = loadPeer('some-peer', 'This file', () => import('some-peer'));
    console.log(await loaded.then(({ value }) => value, ({ code, message }) => code + ' ' + message));`;
  await writeFile(path.join(project, 'program.mjs'), program);
  const register = path.join(import.meta.dirname, '../../../tools/register-source.mjs');
  const given = ['--conditions=@trinity-rft/source', '--import', register, 'program.mjs'];
  const { stdout } = await promisify(execFile)(process.execPath, given, { cwd: project });
  return stdout.trim();
}

it('loads a package, says how to install it, or why it does not load', async () => {
  expect(await messageFor({ 'some-peer': 'export const value = 1' })).toBe('1');
  expect(await messageFor({})).toBe(
    'PEER_MISSING This file needs the package some-peer, which is not installed. Run: npm install --ignore-scripts some-peer',
  );
  const broken = { 'some-peer': "import 'its-own-part'; export const value = 1" };
  expect(await messageFor(broken)).toMatch(
    /^PEER_MISSING This file needs the package some-peer, which does not load: .*'its-own-part'.*npm rebuild some-peer$/,
  );
});
