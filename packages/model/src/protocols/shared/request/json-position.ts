/** Where a text stops being JSON. */

/** Texts up to this many characters are searched when the parser does not say where it stopped. */
const searched = 1_000_000;

/** ` (line 1, column 9)`, or nothing when it cannot be found cheaply. */
export function jsonErrorPosition(text: string, error: SyntaxError): string {
  const position =
    positionIn(error.message) ??
    (atEnd(error) ? text.length : text.length <= searched ? search(text) : undefined);
  if (position === undefined) return '';
  const before = text.slice(0, position).split('\n');
  return ` (line ${before.length}, column ${before.at(-1)!.length + 1})`;
}

function positionIn(message: string): number | undefined {
  const found = /at position (\d+)/.exec(message);
  return found ? Number(found[1]) : undefined;
}

const atEnd = ({ message }: SyntaxError): boolean => message.includes('end of JSON input');

/**
 * The longest beginning that more text could complete, by halving: every beginning of such a text
 * is one too.
 */
function search(text: string): number {
  let good = 0;
  let bad = text.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (couldContinue(text.slice(0, middle))) good = middle;
    else bad = middle;
  }
  return good;
}

function couldContinue(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    return (
      atEnd(error as SyntaxError) ||
      (positionIn((error as SyntaxError).message) ?? -1) >= text.length
    );
  }
}
