/**
 * Replaces an invalid language. Chromium reports `en-US@posix` if the system's language is C, and
 * the chart library creates a number format from it when it is loaded. `index.html` therefore loads
 * this file first.
 */
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
}

export {};
