/**
 * Replaces the browser's language if it is invalid. If the system's language is C, Chromium reports
 * `en-US@posix`, from which the chart library cannot create a number format when it is loaded.
 * `index.html` therefore loads this file first.
 */
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
}

export {};
