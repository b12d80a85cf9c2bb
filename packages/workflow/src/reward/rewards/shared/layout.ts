/** Layouts of thought and answer. Every check reads the response a fixed number of times. */

/**
 * `<think>`, `</think>`, `<answer>`, `</answer>`, each once and on a separate line, from the first
 * character; further lines may follow. Trinity-RFT's default pattern of format_reward,
 * `^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$`, also takes layouts that are repeated.
 */
export function hasStrictLayout(response: string): boolean {
  const open = '<think>\n';
  const between = '\n</think>\n<answer>\n';
  const close = '\n</answer>';
  if (!hasEachTagOnce(response) || !response.startsWith(open)) return false;
  const middle = response.indexOf(between, open.length);
  const end = middle < 0 ? -1 : response.indexOf(close, middle + between.length);
  return end >= 0 && (response[end + close.length] ?? '\n') === '\n';
}

/**
 * A thought, white space, an answer, in this order, each once; anything before, and further lines
 * after. Trinity-RFT's pattern of math_reward, `.*?<think>.*?</think>\s*<answer>.*?</answer>\s*$`,
 * also takes layouts that are repeated.
 */
export function hasLooseLayout(response: string): boolean {
  if (!hasEachTagOnce(response) || !hasOneThought(response)) return false;
  const thought = response.indexOf('</think>') + '</think>'.length;
  const answer = response.indexOf('<answer>');
  const end = response.indexOf('</answer>') + '</answer>'.length;
  return (
    answer >= thought &&
    answer < end &&
    response.slice(thought, answer).trim() === '' &&
    (response.slice(end).split('\n', 1)[0] ?? '').trim() === ''
  );
}

/** Exactly one `<think>` and one `</think>`, in this order. */
export function hasOneThought(response: string): boolean {
  return (
    hasOnce(response, '<think>') &&
    hasOnce(response, '</think>') &&
    response.indexOf('<think>') < response.indexOf('</think>')
  );
}

/** A second answer would be a second guess, and a repeated layout is none. */
const hasEachTagOnce = (response: string): boolean =>
  ['<think>', '</think>', '<answer>', '</answer>'].every((tag) => hasOnce(response, tag));

function hasOnce(text: string, part: string): boolean {
  const at = text.indexOf(part);
  return at >= 0 && at === text.lastIndexOf(part);
}
