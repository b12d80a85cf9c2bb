/**
 * A language that can be used. Chromium says `en-US@posix` where the system's language is C, and the charts make a
 * number format of what it says when they are loaded: import this before them.
 */
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
}

export {};
