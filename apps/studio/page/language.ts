/**
 * A language that can be used. Chromium reports `en-US@posix` where the system's language is C, and the charts make a
 * number format of it when they are loaded; so `index.html` loads this file first.
 */
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
}

export {};
