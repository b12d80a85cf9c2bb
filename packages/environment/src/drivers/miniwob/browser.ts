/**
 * The browser that all episodes share. It is started at the first use, and restarted if it has
 * exited.
 */
import { existsSync } from 'node:fs';
import { ConfigError, describeError } from '@trinity-rft/core';
import type { Browser, Page } from 'playwright-core';
import { broken } from '../../waiting/within.js';

export interface BrowserHandle {
  /**
   * Opens a page without network access.
   * @throws EnvironmentError if the browser does not start, ConfigError if it is not installed
   */
  page(): Promise<Page>;
  close(): Promise<void>;
}

const usualPlaces = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/** @param startMs Maximum time for the start of the browser, in ms. */
export function browserOf(named: string | undefined, startMs: number): BrowserHandle {
  let launched: Promise<Browser> | undefined;
  const forget = (): void => {
    launched = undefined;
  };

  async function launch(): Promise<Browser> {
    const { chromium } = await importPlaywright();
    const executablePath = findChromium(named);
    try {
      const browser = await chromium.launch({ executablePath, timeout: startMs });
      return browser.once('disconnected', forget);
    } catch (cause) {
      throw notStarted(executablePath, cause);
    }
  }

  /** Returns the browser, and starts it if necessary. Concurrent calls share one browser. */
  function running(): Promise<Browser> {
    if (launched === undefined) {
      launched = launch();
      launched.catch(forget);
    }
    return launched;
  }

  return {
    page: async () => {
      const context = await (await running()).newContext({ offline: true });
      try {
        return await context.newPage();
      } catch (error) {
        await context.close().catch(() => undefined);
        throw error;
      }
    },
    close: async () => {
      const browser = await launched?.catch(() => undefined);
      await browser?.close();
    },
  };
}

/**
 * Imports the optional package playwright-core.
 * @throws ConfigError if the package is not installed
 */
async function importPlaywright() {
  try {
    return await import('playwright-core');
  } catch (cause) {
    throw new ConfigError(
      'Browser pages need the package playwright-core. Install it: npm install playwright-core.',
      { code: 'PACKAGE_MISSING', cause },
    );
  }
}

/**
 * Finds the Chromium executable.
 * @throws ConfigError if there is none
 */
function findChromium(named: string | undefined): string {
  const given = named ?? process.env['CHROMIUM_PATH'];
  const places = given === undefined ? usualPlaces : [given];
  const found = places.find((place) => existsSync(place));
  if (found !== undefined) return found;
  throw new ConfigError(
    `There is no Chromium at ${places.join(', ')}. Install one (Debian: apt install chromium), and name it in environment_args.chromium.`,
    { code: 'ENVIRONMENT_ARGS' },
  );
}

const notStarted = (program: string, cause: unknown) =>
  broken(
    'ENVIRONMENT_START_FAILED',
    `The browser ${program} did not start: ${describeError(cause)}. Run it by hand.`,
    cause,
  );
