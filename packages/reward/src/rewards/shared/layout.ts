/** Layouts of thought and answer. Every check reads the response once. */
/**
 * `<think>`, `</think>`, `<answer>`, `</answer>`, each on a separate line, from the first
 * character; further lines may follow. Trinity-RFT's default pattern of format_reward:
 * `^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$`.
 */
export function hasStrictLayout(response: string): boolean {
  const open = '<think>\n';
  const between = '\n</think>\n<answer>\n';
  const close = '\n</answer>';
  if (!response.startsWith(open)) return false;
  const middle = response.indexOf(between, open.length);
  if (middle < 0) return false;
  return anyAfter(
    response,
    close,
    middle + between.length,
    (end) => end === response.length || response[end] === '\n',
  );
}

/**
 * A thought, white space, an answer, in this order; anything before, and further lines after.
 * Trinity-RFT's pattern of math_reward: `.*?<think>.*?</think>\s*<answer>.*?</answer>\s*$`.
 */
export function hasLooseLayout(response: string): boolean {
  const thought = response.indexOf('<think>');
  if (thought < 0) return false;
  let answer = -1;
  anyAfter(response, '</think>', thought + '<think>'.length, (end) => {
    const start = skipSpace(response, end);
    if (!response.startsWith('<answer>', start)) return false;
    answer = start + '<answer>'.length;
    return true;
  });
  return answer >= 0 && anyAfter(response, '</answer>', answer, (end) => endsLine(response, end));
}

/** Exactly one `<think>` and one `</think>`, in this order. */
export function hasOneThought(response: string): boolean {
  const open = response.indexOf('<think>');
  const close = response.indexOf('</think>');
  return (
    open >= 0 &&
    close > open &&
    open === response.lastIndexOf('<think>') &&
    close === response.lastIndexOf('</think>')
  );
}

/** Does any occurrence of `mark` at or after `from` satisfy the test of the position after it? */
function anyAfter(
  text: string,
  mark: string,
  from: number,
  test: (end: number) => boolean,
): boolean {
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at + mark.length)) {
    if (test(at + mark.length)) return true;
  }
  return false;
}

const isSpace = (character: string | undefined): boolean =>
  character !== undefined && character.trim() === '';

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && isSpace(text[at])) at++;
  return at;
}

/** Only white space up to the end of the line. */
function endsLine(text: string, from: number): boolean {
  let at = from;
  while (at < text.length && text[at] !== '\n' && isSpace(text[at])) at++;
  return at === text.length || text[at] === '\n';
}
