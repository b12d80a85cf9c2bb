/**
 * Replaces an invalid language. Chromium reports `en-US@posix` if the system's language is C, and
 * the charts create a number format from the language when they are loaded. `index.html` therefore
 * loads this file first.
 */
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
}

export {};
