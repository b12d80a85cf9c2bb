/** Opens a page in a real browser, with the checks that tests need. */
import axe from 'axe-core';
import puppeteer, { type Page } from 'puppeteer-core';

/** Timeout in ms, generous because other work may share the machine. */
export const timeout = 120_000;

/** Text that a model or a file could contain to attack the page. */
export const attack =
  '<script>steal()</script><img src=x onerror="steal()"><svg onload=steal()></svg>"\'><b id=injected>';

/** Page without `click` and `type`, which fail if an element is about to appear; `locator` and `Look` wait for it. A click of a `locator` misses an element that moves at that moment; `press` does not. */
export type PatientPage = Omit<Page, 'click' | 'type'>;

export interface Look {
  readonly page: PatientPage;
  /** Script errors, dialogs, and requests to other servers. */
  readonly problems: readonly string[];
  /** Waits until the text of an element contains `wanted`. */
  says(selector: string, wanted: string): Promise<void>;
  text(selector: string): Promise<string>;
  /** Clicks an element by no coordinates, once it is there. */
  press(selector: string): Promise<void>;
  /** Replaces the text of an element once it is there; a line break at the end presses Enter. */
  type(selector: string, text: string): Promise<void>;
  /** Serious violations found by axe, in the light and the dark theme. */
  violations(): Promise<readonly string[]>;
  /** Attack texts that ran as scripts or became elements. */
  intrusions(): Promise<readonly string[]>;
}

/** Turns animations off, because colours in transition have another contrast. */
const still = { name: 'prefers-reduced-motion', value: 'reduce' };

/** True for requests to the server, and for pictures of controls, which are data URLs in the styles. */
export const isOwn = (url: string, origin: string): boolean =>
  url.startsWith(`${origin}/`) || url.startsWith('data:image/');

export async function launch(executablePath: string) {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
  const browser = await puppeteer.launch({ executablePath, args });
  const open = async (url: string): Promise<Look> => {
    const page = await browser.newPage();
    // Shorter than the timeout of a test, because the error of a test that times out would not say
    // what was awaited.
    page.setDefaultTimeout(timeout / 2);
    const problems: string[] = [];
    const { origin } = new URL(url);
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('dialog', (dialog) => {
      problems.push(dialog.message());
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      // A file has no origin. The only expected request is the one for the file itself.
      if (request.url() !== url && !isOwn(request.url(), origin)) problems.push(request.url());
    });
    await page.evaluateOnNewDocument(
      'globalThis.stolen = 0; globalThis.steal = () => { globalThis.stolen++; }',
    );
    await page.goto(url);
    await page.waitForSelector('main').catch((cause: unknown) => {
      throw new Error(`The page shows nothing: ${problems.join('; ')}`, { cause });
    });
    return lookAt(page, problems);
  };
  return { open, close: () => browser.close() };
}

function lookAt(page: Page, problems: readonly string[]): Look {
  const says = async (selector: string, wanted: string): Promise<void> => {
    const found = `document.querySelector(${JSON.stringify(selector)})?.textContent.includes(${JSON.stringify(wanted)})`;
    await page.waitForFunction(found).catch(async (cause: unknown) => {
      const shown = await page.$eval('body', (body) => body.textContent);
      throw new Error(`${selector} does not say ${JSON.stringify(wanted)}: ${shown}`, { cause });
    });
  };
  return {
    page,
    problems,
    says,
    press: async (selector) => {
      const found = `document.querySelector(${JSON.stringify(selector)})`;
      await page.waitForFunction(`${found} && (${found}.click(), true)`);
    },
    type: async (selector, text) => {
      const line = text.replace(/\n$/, '');
      const value = `document.querySelector(${JSON.stringify(selector)})?.value`;
      // On a busy machine, an element may be redrawn between two keys.
      do await page.locator(selector).fill(line);
      while ((await page.evaluate(value)) !== line);
      if (line !== text) await page.keyboard.press('Enter');
    },
    text: (selector) => page.$eval(selector, (element) => element.textContent ?? ''),
    violations: async () => {
      const found: string[] = [];
      await page.evaluate(axe.source);
      for (const value of ['light', 'dark']) {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }, still]);
        found.push(...(await serious(page)));
      }
      return found;
    },
    intrusions: async () => {
      const stolen = Number(await page.evaluate('globalThis.stolen'));
      const elements = await page.$$('#injected, #app script, #app img');
      return [...Array.from({ length: stolen }, () => 'script'), ...elements.map(() => 'element')];
    },
  };
}

async function serious(page: Page): Promise<readonly string[]> {
  const { violations } = (await page.evaluate('axe.run()')) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}
