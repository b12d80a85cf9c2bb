/** Commands that the policy writes to act on a page. */

export type Command =
  | { readonly type: 'click'; readonly element: number }
  | { readonly type: 'fill'; readonly element: number; readonly text: string }
  | { readonly type: 'select'; readonly element: number; readonly text: string }
  | { readonly type: 'press'; readonly key: string };

export const instructions = `You use a web page. Every element of the page has a number. End every answer with one action in triple backticks, such as \`\`\`click(3)\`\`\`:
click(3) clicks on element 3
fill(4, "text") replaces what is in the field 4
select(5, "option") chooses an option of the list 5
press("Enter") presses a key, such as Enter, Tab, Backspace or ArrowDown`;

const pattern =
  /^(?:(?<click>click)\(\s*(?<target>\d+)\s*\)|(?<verb>fill|select)\(\s*(?<element>\d+)\s*,(?<text>.+)\)|(?<press>press)\((?<key>.+)\))$/s;

/** Parses a command. Returns undefined if `text` is not a command. */
export function readCommand(text: string): Command | undefined {
  const groups = pattern.exec(text.trim())?.groups;
  if (groups === undefined) return undefined;
  const { click, target, verb, element, text: content, key } = groups;
  if (click !== undefined) return { type: 'click', element: Number(target) };
  if (verb === undefined) return { type: 'press', key: unquoted(key?.trim() ?? '') };
  const type = verb === 'fill' ? 'fill' : 'select';
  return { type, element: Number(element), text: unquoted(content?.trim() ?? '') };
}

/** Removes quotes and escapes from an argument, which has the form `"a \"b\""`, `'a'` or `a`. */
function unquoted(text: string): string {
  const inner = /^(["'])(.*)\1$/s.exec(text)?.[2];
  return inner?.replaceAll(/\\(["'\\])/g, '$1') ?? text;
}
