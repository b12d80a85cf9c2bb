/**
 * Finds marked answers in text of models and data sets. Every search takes linear time in the
 * length of the text.
 */
import { tokenize } from './lexer.js';

/** A command `\boxed{}` or `\fbox{}` and its position in the text. */
interface Box {
  /** Index of the backslash of the command. */
  readonly start: number;
  /**
   * Index after the command: after the closing brace, or after the content if there are no braces.
   */
  readonly end: number;
  readonly content: string;
}

/**
 * Returns the trimmed content of the last `\boxed{..}`, `\fbox{..}` or `\boxed 7`. If only "and",
 * commas, or a name and an equals sign separate it from the command before it, the result is a list
 * of the contents of both, and so on for earlier commands. A content that the next command repeats
 * is listed once if only delimiters, white space, periods and semicolons are between the two
 * commands, or if it is the letter of a choice. Returns undefined if there is no such command, or
 * none is closed.
 */
export function boxedAnswer(text: string): string | undefined {
  const [last, ...earlier] = findBoxes(text).toReversed();
  if (!last) return undefined;
  const contents = [last.content.trim()];
  let next = last;
  for (const box of earlier) {
    const between = text.slice(box.end, next.start);
    if (!isConnector(between)) break;
    const content = normalizeAnswer(box.content);
    const isRepeated =
      content === normalizeAnswer(next.content) &&
      (separators.test(between) || choice.test(content));
    if (!isRepeated) contents.push(box.content.trim());
    next = box;
  }
  return contents.toReversed().join(', ');
}

const separators = /^(?:[\s$.;]|\\(?:[()[\],; ]|q?quad\b))*$/;
const choice = /^[A-J]$/;

/**
 * Returns an answer in a normalized spelling: its tokens, separated by spaces. The value stays the
 * same, and normalizing the result again does not change it.
 */
export function normalizeAnswer(text: string): string {
  return tokenize(text)
    .map((token) => token.text)
    .join(' ');
}

/**
 * Finds `\boxed` and `\fbox` commands that are not inside others, in order of their ends. Works in
 * one pass, with a stack that matches the braces.
 */
function findBoxes(text: string): readonly Box[] {
  const boxes: Box[] = [];
  /**
   * For each open brace, the index of its content, and the index of the `\boxed` or `\fbox` command
   * to which the brace belongs (undefined if it belongs to none).
   */
  const open: { readonly content: number; readonly box: number | undefined }[] = [];
  const mark = /\\(?:boxed|fbox)[ \t]{0,8}(\{)?|\\[^]|[{}]/g;
  for (let match = mark.exec(text); match !== null; match = mark.exec(text)) {
    const isBox = match[0].length > 2;
    if (match[0] === '}') closeBrace(text, match.index, open.pop(), boxes);
    else if (match[0] === '{' || match[1])
      open.push({ content: mark.lastIndex, box: isBox ? match.index : undefined });
    else if (isBox) boxes.push(openBox(text, match.index, mark.lastIndex));
  }
  return boxes;
}

function closeBrace(
  text: string,
  at: number,
  brace: { readonly content: number; readonly box: number | undefined } | undefined,
  boxes: Box[],
): void {
  if (brace?.box === undefined) return;
  // Boxes inside this box have been found already.
  while ((boxes.at(-1)?.start ?? -1) > brace.box) boxes.pop();
  boxes.push({ start: brace.box, end: at + 1, content: text.slice(brace.content, at) });
}

/**
 * Returns a command without braces, such as `\boxed 7$`, which ends at the next dollar or white
 * space.
 */
function openBox(text: string, start: number, from: number): Box {
  const length = text.slice(from, from + 64).search(/[\s$]/);
  const end = length < 0 ? Math.min(text.length, from + 64) : from + length;
  return { start, end, content: text.slice(from, end) };
}

const connector =
  /\\(?:text|mbox|mathrm)[ ]?\{ {0,4}(?:and|or)? {0,4}\}|\\(?:q?quad|[,;! ()[\]])|\b(?:and|or)\b|\b[a-zA-Z](?:_\{?\w\}?)? {0,2}=|[\s$,;.]/g;

const isConnector = (between: string): boolean =>
  between.length <= 80 && between.replace(connector, '') === '';

/** Returns the content of the last `<answer>..</answer>`. */
export function taggedAnswer(text: string): string | undefined {
  const close = text.lastIndexOf('</answer>');
  const open = close < 0 ? -1 : text.lastIndexOf('<answer>', close);
  return open < 0 ? undefined : text.slice(open + '<answer>'.length, close).trim();
}

/** Returns the first line after the last `####`, which marks the answer in solutions of GSM8K. */
export function hashedAnswer(text: string): string | undefined {
  const at = text.lastIndexOf('####');
  return at < 0 ? undefined : firstLine(text.slice(at + '####'.length));
}

/** Returns the rest of the sentence after the last "answer is", "answer:" or 答案是. */
export function announcedAnswer(text: string): string | undefined {
  let end = -1;
  for (const match of text.matchAll(/\banswer[ \t*_]{0,8}(?:is\b|:)|答案(?:是|为)?/gi))
    end = match.index + match[0].length;
  if (end < 0) return undefined;
  const line = firstLine(text.slice(end));
  const sentence = line.search(/[.!?。](?:\s|$)/);
  return sentence < 0 ? line : line.slice(0, sentence);
}

/**
 * Returns the first line of a text that contains more than white space and the marks of emphasis or
 * a colon.
 */
function firstLine(text: string): string {
  const start = text.search(/[^\s*_:：]/);
  if (start < 0) return '';
  const end = text.indexOf('\n', start);
  return (end < 0 ? text.slice(start) : text.slice(start, end)).trim();
}

/**
 * Returns the contents of all formulas, which are between dollar signs or between `\(` and `\)`.
 */
export function formulas(text: string): readonly string[] {
  return [...text.matchAll(/\$([^$]{1,1000})\$|\\\(((?:[^\\]|\\[^()]){1,1000})\\\)/g)].map(
    (match) => (match[1] ?? match[2] ?? '').trim(),
  );
}

const number =
  /\\[dt]?frac\{-?\d+\}\{-?\d+\}|(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:\/\d+(?!\d|\.\d))?\\?%?|\.\d+/g;

/**
 * Returns the first (`place` 0) or last (`place` -1) number in prose, without thousands separators.
 * The number may be a decimal, a fraction or a percentage. A minus sign before it is included
 * unless it is a subtraction.
 */
export function numberIn(text: string, place: 0 | -1): string | undefined {
  let chosen: RegExpExecArray | undefined;
  for (const match of text.matchAll(number)) {
    chosen = match;
    if (place === 0) break;
  }
  if (chosen === undefined) return undefined;
  const before = text.slice(Math.max(0, chosen.index - 2), chosen.index);
  const negative = /(?:^|[^\w)\]}])[-−]$/.test(before);
  return (negative ? '-' : '') + chosen[0].replaceAll(',', '');
}
