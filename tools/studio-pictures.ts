/**
 * `pnpm docs:pictures [RUNS [OUT]]`: trains the quickstart twice, or takes the runs of the folder RUNS,
 * opens them with `trinity studio`, and writes pictures into `docs/guides/studio`. With OUT, every page
 * at three widths, light and dark, into that folder instead. Checks every page, and exits with 1 if axe
 * finds a serious violation on one of them. Needs Chromium.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pageFolder } from '../apps/studio/src/index.ts';
import { buildPageInto } from '../apps/studio/test/build-page.ts';
import { findChromium } from '../tests/support/src/browser/chromium.ts';
import { launch, type Look } from '../apps/studio/test/look.ts';

const root = path.resolve(import.meta.dirname, '..');
const pictures = path.join(root, 'docs/guides/studio');
const fromSources = [
  '--conditions=@trinity-rft/source',
  `--import=${new URL('register-source.mjs', import.meta.url).href}`,
];
/**
 * Pages with pictures. The other pages are empty until something is selected or fails, or show paths of
 * this machine.
 */
const pictured: readonly string[] = ['runs', 'overview', 'metrics', 'compare', 'rollouts'];
const scratch = mkdtempSync(path.join(tmpdir(), 'trinity-pictures-'));
const [given, out] = process.argv.slice(2);
const runs = given ?? trainTwice();

const chromium = await findChromium();
if (chromium === undefined) throw new Error('No Chromium: set CHROMIUM_PATH or install one.');
await buildPageInto(pageFolder());
const studio = spawn(
  process.execPath,
  [...fromSources, path.join(root, 'apps/runner/src/cli.ts'), 'studio', runs],
  // Starts beside the runs, because the pages show paths relative to the folder where the studio
  // was started.
  { cwd: path.dirname(path.resolve(runs)), stdio: ['ignore', 'pipe', 'inherit'] },
);
const browser = await launch(chromium);
try {
  const look = await browser.open(await addressOf(studio.stdout));
  await look.page.setViewport({ width: 1280, height: 800 });
  mkdirSync(out ?? pictures, { recursive: true });
  await picturesOf(look);
  process.exitCode = look.problems.length === 0 ? process.exitCode : 1;
} finally {
  await browser.close();
  studio.kill('SIGINT');
  rmSync(scratch, { recursive: true });
}

/** Trains with two seeds, so that there is something to compare. */
function trainTwice(): string {
  const quickstart = path.join(root, 'examples/quickstart');
  const folder = path.join(scratch, 'runs');
  for (const [seed, name] of [
    ['42', 'quickstart'],
    ['43', 'other-seed'],
  ] as const) {
    const cwd = path.join(scratch, seed);
    mkdirSync(cwd);
    cpSync(path.join(quickstart, 'quickstart.yaml'), path.join(cwd, 'quickstart.yaml'));
    const program = path.join(quickstart, 'src/index.ts');
    spawnSync(process.execPath, [...fromSources, program], {
      cwd,
      env: { ...process.env, QUICKSTART_SEED: seed },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    cpSync(path.join(cwd, 'runs/Trinity-RFT/quickstart'), path.join(folder, name), {
      recursive: true,
    });
  }
  return folder;
}

async function addressOf(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(output)) {
    const address = /^Open (\S+)$/.exec(line)?.[1];
    if (address !== undefined) return address;
  }
  await once(studio, 'exit');
  throw new Error('The studio did not start.');
}

/** Pictures of every page of the navigation, over the first two runs with explore steps. */
async function picturesOf(look: Look): Promise<void> {
  const { page } = look;
  await page.waitForSelector('tbody td.recorded a');
  const boxes = await page.$$(
    'tbody tr:has(td.recorded a):not(:has(a[href$="evaluations"])) input',
  );
  for (const box of boxes.slice(0, 2)) await box.click();
  await picture(look, 'runs');
  await page.locator('a.button.primary').click();
  await page.waitForFunction(`location.hash.includes('run=')`);
  const query = (await page.evaluate(`location.hash.replace(/^#page=\\w+/, '')`)) as string;
  await page.evaluate(`location.hash = '#page=metrics${query}'`);
  await page.waitForSelector('.tabs');
  const names = await page.$$eval('nav a', (links) =>
    links.map((link) => new URLSearchParams(link.hash.slice(1)).get('page') ?? ''),
  );
  for (const name of names.filter((each) => each !== 'runs')) {
    await page.evaluate(`location.hash = '#page=${name}${query}'`);
    await picture(look, name);
  }
}

async function picture(look: Look, name: string): Promise<void> {
  const { page } = look;
  await page.waitForNetworkIdle({ idleTime: 500, concurrency: 1 });
  for (const violation of await look.violations()) {
    console.error(`${name}: ${violation}`);
    process.exitCode = 1;
  }
  if (out !== undefined) await everySize(look, out, name);
  else if (pictured.includes(name)) await save(look, 'light', `${path.join(pictures, name)}.webp`);
}

async function everySize(look: Look, folder: string, name: string): Promise<void> {
  for (const width of [1440, 1024, 390]) {
    await look.page.setViewport({ width, height: 900 });
    for (const theme of ['light', 'dark'])
      await save(look, theme, `${path.join(folder, `${name}-${width}-${theme}`)}.webp`);
  }
}

async function save({ page }: Look, theme: string, file: `${string}.webp`): Promise<void> {
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
  await page.waitForNetworkIdle({ idleTime: 300, concurrency: 1 });
  await page.screenshot({ path: file, type: 'webp', quality: 70 });
  console.log(path.relative(process.cwd(), file));
}
