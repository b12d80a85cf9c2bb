/** A Chromium on this machine, if there is one. */
import { existsSync } from 'node:fs';

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

/** `CHROMIUM_PATH` first, which may also name another place than the usual ones. */
export function findChromium(): string | undefined {
  return [process.env['CHROMIUM_PATH'], ...usual].find(
    (file) => file !== undefined && existsSync(file),
  );
}
