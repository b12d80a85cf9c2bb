/**
 * Sample of a tokenizer's results by which tokenizers are compared: the ids of various texts, and
 * the texts of some ids.
 */
import type { VocabularySample } from '@trinity-rft/core/engine';
import type { Tokenizer } from './types.js';

/**
 * Texts with many scripts, numbers, code, white space, and characters that are normalised or split.
 */
const texts = [
  'The quick brown fox jumps over the lazy dog. It isn’t what you’d think, is it?',
  'THE END of naïve café façades: Ünïcödé, Żółć, İstanbul, Straße.',
  'Быстрая коричневая лиса; γρήγορη αλεπού; շատ արագ աղվես; სწრაფი მელა.',
  'שועל חום מהיר; ثعلب بني سريع قفز فوق الكلب.',
  'तेज़ भूरी लोमड़ी; দ্রুত বাদামী শিয়াল; விரைவான பழுப்பு நரி; สุนัขจิ้งจอกสีน้ำตาล.',
  '敏捷的棕色狐狸跳过了懒狗。素早い茶色の狐はのろまな犬を飛び越える。빠른 갈색 여우.',
  '😀👩🏽‍💻🇪🇺 → ≤ ∑ √2 ½ ² ﬁ Ａ e\u0301 \u00e9 \u200b \ufeff',
  '0 1 12 123 1234 12345 3.14159 -2e-10 1,000,000 0x1F 2026-11-23 12+34=46',
  ' leading, trailing \n\n\nlines\r\n\ttabs\t\t  two   three    four     five ',
  'def f(x: int) -> str:\n    return {"a": [1, 2.5, None]}[x] if x != 3 else f"{x!r}"  # ok\n',
  'const f = async <T>(a?: T[]) => { await a?.[0]; }; // ({[<>]})!=&&||??',
  '<p class="x">&amp;</p> http://example.org/a_b?c=d%20e#f $\\frac{1}{2}$ `code` **bold** ~/.x',
  'aaaaaaaaaaaaaaaaaaaa zqxjkvbwp antidisestablishmentarianism _snake_case camelCaseWord',
] as const;

const idCount = 24;
const specialCount = 32;

/** Returns the sample for a tokenizer, without texts that it cannot encode. */
export function vocabularySample(tokenizer: Tokenizer): VocabularySample {
  return {
    texts: [...texts, specialText(tokenizer)].flatMap((text) => {
      const ids = encoded(tokenizer, text);
      return ids === undefined ? [] : [{ text, ids }];
    }),
    tokens: spreadIds(tokenizer).map((id) => ({ id, text: tokenizer.decode([id]) })),
    decode: (ids) => tokenizer.decode(ids),
  };
}

/** Returns a text in which special tokens alternate with letters. */
function specialText(tokenizer: Tokenizer): string {
  const ids = [...tokenizer.specialTokenIds].toSorted((a, b) => a - b).slice(0, specialCount);
  return `a${ids.map((id) => `${tokenizer.decode([id])}b`).join('')}`;
}

function encoded(tokenizer: Tokenizer, text: string): readonly number[] | undefined {
  try {
    return [...tokenizer.encode(text)];
  } catch {
    return undefined;
  }
}

/**
 * Returns ids that are spread evenly over the vocabulary, including the first and the last, but
 * without ids that have no token.
 */
function spreadIds(tokenizer: Tokenizer): readonly number[] {
  const last = tokenizer.vocabularySize - 1;
  const ids = Array.from({ length: idCount }, (_, i) => Math.round((i * last) / (idCount - 1)));
  return [...new Set(ids)].filter((id) => tokenizer.idToToken(id) !== undefined);
}
