/** Finds a Chromium for the tests: one on this machine, else that of the npm package @sparticuz/chromium. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const usual = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  String.raw`C:\Program Files\Google\Chrome\Application\chrome.exe`,
];

/** Path of the Chromium. `CHROMIUM_PATH` takes precedence over the usual locations. */
export async function findChromium(): Promise<string | undefined> {
  const installed = [process.env['CHROMIUM_PATH'], ...usual].find(
    (file) => file !== undefined && existsSync(file),
  );
  // The package holds the build for this platform only.
  return (
    installed ?? (process.platform === 'linux' && process.arch === 'x64' ? unpacked() : undefined)
  );
}

/** Path of the package's browser, which is unpacked once. */
async function unpacked(): Promise<string> {
  const archive = fileURLToPath(
    new URL('../bin/chromium.br', import.meta.resolve('@sparticuz/chromium')),
  );
  const manifest = await readFile(path.join(archive, '../../package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  const cache = path.join(import.meta.dirname, '../../node_modules/.cache/chromium');
  const browser = path.join(cache, version);
  if (existsSync(browser)) return browser;
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(path.join(cache, 'draft-'));
  await rename(await inflateInto(draft, archive), browser);
  await rm(draft, { recursive: true });
  return browser;
}

/** Unpacks an archive into `folder`; the package itself unpacks into the folder for temporary files. */
async function inflateInto(folder: string, archive: string): Promise<string> {
  const { inflate } = await import('@sparticuz/chromium');
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  try {
    return await inflate(archive);
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
}
