/**
 * Measures the similarity of two texts, from 0 to 1. Equal texts have similarity 1. All measures
 * except `bleu` are symmetric.
 */
import { graderFault } from './fault.js';

type Similarity = (input: string, reference: string) => number;
type Sequence = readonly string[];

/**
 * Maximum length of a text in characters. For longer texts, computing the longest common
 * subsequence would take seconds.
 */
const longest = 50_000;
/** Maximum length of the token sequences (n-grams) that BLEU and GLEU count. */
const mostTokens = 4;

const similarities = {
  /**
   * `fuzz.ratio` of RapidFuzz, divided by 100: twice the length of the longest common subsequence
   * of characters, divided by the sum of both lengths (normalized InDel distance).
   */
  fuzzy_match: (input, reference) => commonShare([...input], [...reference]),
  bleu: (input, reference) => bleu(tokens(input), tokens(reference)),
  gleu: (input, reference) => gleu(tokens(input), tokens(reference)),
  rouge_1: rouge(1),
  rouge_2: rouge(2),
  rouge_3: rouge(3),
  rouge_4: rouge(4),
  rouge_5: rouge(5),
  /** F1 of the longest common subsequence of words. @see Lin 2004, ROUGE, section 3 */
  rouge_l: (input, reference) => commonShare(words(input), words(reference)),
} satisfies Record<string, Similarity>;

export type SimilarityName = keyof typeof similarities;

export const similarityNames = Object.keys(similarities) as readonly SimilarityName[];

/**
 * Computes a similarity by its name.
 * @throws RewardError for a text of more than 50,000 characters
 */
export function similarity(name: SimilarityName, input: string, reference: string): number {
  const length = Math.max(input.length, reference.length);
  if (length > longest)
    throw graderFault(
      'other_error',
      `${name} compares texts of at most ${longest} characters; one has ${length}.`,
    );
  return similarities[name](input, reference);
}

/**
 * Matches a character of a script without spaces between words. Each such character counts as a
 * word.
 */
const alone = String.raw`[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]`;
const wordForm = new RegExp(String.raw`${alone}|[[\p{L}\p{N}\p{M}]--${alone}]+`, 'gv');
const tokenForm = new RegExp(String.raw`${alone}|[[\p{L}\p{N}\p{M}_]--${alone}]+|\S`, 'gv');

/**
 * Splits a text into lower-case words without punctuation, like the package rouge-score, but for
 * all scripts.
 */
const words = (text: string): Sequence => text.toLowerCase().match(wordForm) ?? [];
/** Splits a text into words and punctuation marks. */
const tokens = (text: string): Sequence => text.match(tokenForm) ?? [];

/** Counts the occurrences of each sequence of `n` tokens. */
function grams(list: Sequence, n: number): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (let at = 0; at + n <= list.length; at++) {
    const gram = list.slice(at, at + n).join('\n');
    counts.set(gram, (counts.get(gram) ?? 0) + 1);
  }
  return counts;
}

/**
 * Counts the n-grams that two texts have in common. Each n-gram counts as often as in the text
 * where it occurs less often.
 */
function matches(a: Sequence, b: Sequence, n: number): number {
  const other = grams(b, n);
  return [...grams(a, n)].reduce(
    (sum, [gram, count]) => sum + Math.min(count, other.get(gram) ?? 0),
    0,
  );
}

const gramCount = ({ length }: Sequence, n: number): number => Math.max(0, length - n + 1);

const isSame = (a: Sequence, b: Sequence): boolean => a.join('\n') === b.join('\n');

/**
 * Creates ROUGE-n: the F1 score of the n-grams of words. If both texts have fewer than `n` words,
 * the score is 1 for equal words, else 0.
 * @see Lin 2004, section 2
 */
function rouge(n: number): Similarity {
  return (input, reference) => {
    const [a, b] = [words(input), words(reference)];
    const total = gramCount(a, n) + gramCount(b, n);
    return total === 0 ? Number(isSame(a, b)) : (2 * matches(a, b, n)) / total;
  };
}

/**
 * Computes BLEU for one sentence: the brevity penalty times the geometric mean of the clipped
 * precisions for sequences of 1 to 4 tokens, or fewer for a shorter input. If a precision is 0, it
 * is replaced as in `sentence_bleu` of sacreBLEU: the k-th precision that is 0 counts as 1 / (2^k
 * count), where `count` is the number of sequences in the input.
 * @see Papineni et al. 2002, BLEU; Chen and Cherry 2014, smoothing 3
 */
function bleu(input: Sequence, reference: Sequence): number {
  if (isSame(input, reference)) return 1;
  if (input.length === 0 || matches(input, reference, 1) === 0) return 0;
  const order = Math.min(mostTokens, input.length);
  let [logs, smooth] = [0, 1];
  for (let n = 1; n <= order; n++) {
    const common = matches(input, reference, n);
    if (common === 0) smooth *= 2;
    logs += Math.log((common || 1 / smooth) / gramCount(input, n));
  }
  const brevity = Math.min(0, 1 - reference.length / input.length);
  return Math.exp(brevity + logs / order);
}

/**
 * Computes GLEU: the smaller of precision and recall over all sequences of 1 to 4 tokens.
 * @see Wu et al. 2016, Google's Neural Machine Translation System, section 4
 */
function gleu(input: Sequence, reference: Sequence): number {
  const orders = Array.from({ length: mostTokens }, (_, i) => i + 1);
  const sum = (of: (n: number) => number): number => orders.reduce((all, n) => all + of(n), 0);
  const most = sum((n) => gramCount(input.length > reference.length ? input : reference, n));
  return most === 0 ? 1 : sum((n) => matches(input, reference, n)) / most;
}

function commonShare(a: Sequence, b: Sequence): number {
  const total = a.length + b.length;
  return total === 0 ? 1 : (2 * commonLength(a, b)) / total;
}

/**
 * Computes the length of the longest common subsequence with bit vectors. The length is the number
 * of zeros in the last vector.
 * @see Hyyrö 2004
 */
function commonLength(a: Sequence, b: Sequence): number {
  const places = new Map<string, bigint>();
  a.forEach((one, at) => places.set(one, (places.get(one) ?? 0n) | (1n << BigInt(at))));
  const full = (1n << BigInt(a.length)) - 1n;
  let row = full;
  for (const one of b) {
    const match = row & (places.get(one) ?? 0n);
    if (match !== 0n) row = ((row + match) | (row - match)) & full;
  }
  return a.length - (row.toString(2).match(/1/g)?.length ?? 0);
}
