/** Escapes text from models and users for terminals and markup. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** Escapes text for HTML and XML. */
export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? sign);

/** Escapes characters that a terminal would interpret (`\x1b`), except line breaks and tabs. */
export const visible = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- It matches control characters on purpose.
  text.replaceAll(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (character) => {
      const code = character.codePointAt(0) ?? 0;
      return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
    },
  );
