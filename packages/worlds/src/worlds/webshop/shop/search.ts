/** Full-text search with Lucene's scoring, BM25 with k1 0.9 and b 0.4. */
import type { Product } from './product.js';

export interface SearchIndex {
  /** Finds at most `most` products, best match first. */
  search(query: string, most: number): readonly Product[];
}

const k1 = 0.9;
const b = 0.4;

/** Indexes titles, descriptions, first bullet points and options. */
export function searchIndex(products: readonly Product[]): SearchIndex {
  const postings = new Map<string, Map<number, number>>();
  const lengths = products.map((product, index) => {
    const terms = termsOf(textOf(product));
    for (const term of terms) {
      const posting = postings.get(term) ?? new Map<number, number>();
      posting.set(index, (posting.get(index) ?? 0) + 1);
      postings.set(term, posting);
    }
    return terms.length;
  });
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);

  const scoresOf = (query: string): ReadonlyMap<number, number> => {
    const scores = new Map<number, number>();
    for (const term of termsOf(query)) {
      const posting = postings.get(term) ?? new Map<number, number>();
      const rarity = Math.log(1 + (products.length - posting.size + 0.5) / (posting.size + 0.5));
      for (const [index, count] of posting) {
        const norm = k1 * (1 - b + (b * (lengths[index] ?? 0)) / average);
        scores.set(index, (scores.get(index) ?? 0) + (rarity * count) / (count + norm));
      }
    }
    return scores;
  };

  return {
    search: (query, most) =>
      [...scoresOf(query)]
        .toSorted(([i, x], [j, y]) => y - x || i - j)
        .slice(0, most)
        .flatMap(([index]) => products[index] ?? []),
  };
}

function textOf({ title, description, bulletPoints, options }: Product): string {
  const choices = Object.entries(options).map(([name, values]) => `${name}: ${values.join(', ')}`);
  return [title, description, bulletPoints[0] ?? '', ...choices].join(' ');
}

const stopWords = new Set(
  'a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with'.split(
    ' ',
  ),
);

/** Returns the words in lower case, without stop words and plural endings. */
const termsOf = (text: string): readonly string[] =>
  (text.toLowerCase().match(/[a-z0-9]+/g) ?? [])
    .filter((word) => !stopWords.has(word))
    .map((word) => word.replace(/(?<=[^s]{2})s$/, ''));
