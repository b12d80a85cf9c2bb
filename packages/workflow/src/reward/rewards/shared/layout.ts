/**
 * Checks the layout of responses that consist of a thought and an answer. Every check takes linear
 * time.
 */

/**
 * Returns true if `<think>`, `</think>`, `<answer>` and `</answer>` each occur once, in lines of
 * their own, and the response begins with `<think>`. Further lines may follow. Stricter than
 * Trinity-RFT's default pattern of format_reward,
 * `^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$`, which also accepts repeated tags.
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
 * Returns true if the response contains one thought, then white space, then one answer. Any text
 * may precede the thought, and further lines may follow. Stricter than Trinity-RFT's pattern of
 * math_reward, `.*?<think>.*?</think>\s*<answer>.*?</answer>\s*$`, which also accepts repeated
 * tags.
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

/** Returns true if there is exactly one `<think>` and one `</think>`, in this order. */
export function hasOneThought(response: string): boolean {
  return (
    hasOnce(response, '<think>') &&
    hasOnce(response, '</think>') &&
    response.indexOf('<think>') < response.indexOf('</think>')
  );
}

/** Returns true if each tag occurs exactly once. A second answer would be a second guess. */
const hasEachTagOnce = (response: string): boolean =>
  ['<think>', '</think>', '<answer>', '</answer>'].every((tag) => hasOnce(response, tag));

function hasOnce(text: string, part: string): boolean {
  const at = text.indexOf(part);
  return at >= 0 && at === text.lastIndexOf(part);
}
