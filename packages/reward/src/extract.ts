/** Finds the final answer in what a model wrote, or in the expected answer of a data set. Linear in the length of the text. */

/** Where an answer stood. `number` is the last number of a text without any mark. */
export type AnswerSource = 'boxed' | 'tag' | 'hashes' | 'phrase' | 'number';

export interface ExtractedAnswer {
  /** Trimmed, not normalised; never empty. */
  readonly text: string;
  readonly source: AnswerSource;
}

/**
 * The final answer of a response. The first rule that finds one decides, and of several places the last one counts:
 * `\boxed{..}`, `<answer>..</answer>`, `#### ..`, `answer is ..`, the last number. What stands behind the last `</think>`
 * goes before the thought itself.
 */
export function extractAnswer(response: string): ExtractedAnswer | undefined {
  const thought = response.lastIndexOf('</think>');
  const final = thought < 0 ? '' : response.slice(thought + '</think>'.length);
  return (final && findAnswer(final)) || findAnswer(response);
}

/** The expected answer: the same marks as in a response, else the whole text. GSM8K's `.. #### 72` gives `72`. */
export function extractTruth(truth: string): string {
  return findMarked(truth)?.text ?? truth.trim();
}

function findAnswer(text: string): ExtractedAnswer | undefined {
  return findMarked(text) ?? found('number', lastNumber(text));
}

function findMarked(text: string): ExtractedAnswer | undefined {
  return (
    found('boxed', boxedAnswers(text).at(-1)) ??
    found('tag', lastTagged(text)) ??
    found('hashes', afterHashes(text)) ??
    found('phrase', afterPhrase(text))
  );
}

function found(source: AnswerSource, text: string | undefined): ExtractedAnswer | undefined {
  const trimmed = text?.trim();
  return trimmed ? { text: trimmed, source } : undefined;
}

/** The contents of every `\boxed{..}`, `\fbox{..}` and `\boxed 7`, in order; a box that is never closed holds nothing. */
export function boxedAnswers(text: string): readonly string[] {
  const boxes: string[] = [];
  const mark = /\\(?:boxed|fbox)[ \t]*/g;
  for (let match = mark.exec(text); match !== null; match = mark.exec(text)) {
    const start = mark.lastIndex;
    const end = text[start] === '{' ? closingBrace(text, start) : endOfWord(text, start);
    // An open box reaches to the end: no later one can be closed outside of it.
    if (end < 0) break;
    boxes.push(text[start] === '{' ? text.slice(start + 1, end) : text.slice(start, end));
    mark.lastIndex = end;
  }
  return boxes;
}

/** The place of the brace that closes the one at `open`, -1 when there is none. */
function closingBrace(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    const character = text[at];
    if (character === '\\') at++;
    else if (character === '{') depth++;
    else if (character === '}' && --depth === 0) return at;
  }
  return -1;
}

function endOfWord(text: string, start: number): number {
  const end = text.slice(start, start + 64).search(/[\s$]/);
  return end < 0 ? Math.min(text.length, start + 64) : start + end;
}

function lastTagged(text: string): string | undefined {
  const close = text.lastIndexOf('</answer>');
  const open = close < 0 ? -1 : text.lastIndexOf('<answer>', close);
  return open < 0 ? undefined : text.slice(open + '<answer>'.length, close);
}

function afterHashes(text: string): string | undefined {
  const at = text.lastIndexOf('####');
  return at < 0 ? undefined : firstLine(text.slice(at + 4));
}

function afterPhrase(text: string): string | undefined {
  let end = -1;
  for (const match of text.matchAll(/\banswer[ \t*_]{0,8}(?:is\b|:)|答案(?:是|为)?/gi)) end = match.index + match[0].length;
  return end < 0 ? undefined : firstLine(text.slice(end));
}

/** The first line that holds more than marks, without the marks around it. */
function firstLine(text: string): string {
  const start = text.search(/[^\s*_:：]/);
  if (start < 0) return '';
  const end = text.indexOf('\n', start);
  return trimMarks(end < 0 ? text.slice(start) : text.slice(start, end));
}

function trimMarks(text: string): string {
  let end = text.length;
  while (end > 0 && '*_.。 \t\r'.includes(text[end - 1]!)) end--;
  return text.slice(0, end);
}

const number = /\\[dt]?frac\{-?\d+\}\{-?\d+\}|(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:\/\d+)?%?/g;

/** The last number of a text: decimals, thousands separators, fractions, percent; signed unless the sign is a minus between two terms. */
export function lastNumber(text: string): string | undefined {
  let last: string | undefined;
  for (const match of text.matchAll(number)) last = signed(text, match.index, match[0]);
  return last;
}

/** The first number of a text. */
export function firstNumber(text: string): string | undefined {
  for (const match of text.matchAll(number)) return signed(text, match.index, match[0]);
  return undefined;
}

function signed(text: string, at: number, digits: string): string {
  const plain = digits.endsWith(',') ? digits.slice(0, -1) : digits;
  const sign = text[at - 1] === '-' && !/[\w)\]}]/.test(text[at - 2] ?? ' ') ? '-' : '';
  return sign + plain;
}
