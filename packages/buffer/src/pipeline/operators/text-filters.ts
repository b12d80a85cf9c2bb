/** Filters tasks by their text, in any language. */
import { numberArg } from '@trinity-rft/core';
import { defineTaskOperator } from '../definition/operator.js';
import { textOf } from './texts.js';

/** Filters tasks by the length of their text in characters (Unicode code points). */
export const textLengthFilter = defineTaskOperator({
  name: 'text_length_filter',
  args: {
    minLen: numberArg(10, { min: 0 }, 'Fewest characters.'),
    maxLen: numberArg(undefined, { min: 0 }, 'Most characters. Default: no limit.'),
  },
  create:
    ({ minLen, maxLen = Infinity }) =>
    (rawTask, { fields }) => {
      const { length } = [...textOf(rawTask, fields)];
      if (length < minLen)
        return { drop: `shorter than ${minLen} characters`, details: `${length}` };
      if (length > maxLen)
        return { drop: `longer than ${maxLen} characters`, details: `${length}` };
      return undefined;
    },
});

/** Filters tasks by the share of letters and digits (of any script) among all characters. */
export const alphanumericFilter = defineTaskOperator({
  name: 'alphanumeric_filter',
  args: {
    minRatio: numberArg(0.25, { min: 0, max: 1 }, 'Smallest share of letters and digits.'),
    maxRatio: numberArg(1, { min: 0, max: 1 }, 'Largest share.'),
  },
  create:
    ({ minRatio, maxRatio }) =>
    (rawTask, { fields }) => {
      const characters = [...textOf(rawTask, fields)];
      const share = characters.filter((each) => /[\p{L}\p{N}]/u.test(each)).length;
      const ratio = characters.length === 0 ? 0 : share / characters.length;
      if (ratio < minRatio || ratio > maxRatio)
        return {
          drop: `share of letters and digits not within ${minRatio} to ${maxRatio}`,
          details: ratio.toFixed(3),
        };
      return undefined;
    },
});

/**
 * Filters tasks by how repetitive their text is: the share of all sequences of `n` characters that
 * have already occurred earlier in the text.
 */
export const repetitionFilter = defineTaskOperator({
  name: 'repetition_filter',
  args: {
    n: numberArg(10, { min: 1 }, 'Characters of a sequence.'),
    maxRatio: numberArg(0.5, { min: 0, max: 1 }, 'Largest share of repeated sequences.'),
  },
  create:
    ({ n, maxRatio }) =>
    (rawTask, { fields }) => {
      const text = textOf(rawTask, fields);
      const count = text.length - n + 1;
      if (count < 2) return undefined;
      const seen = new Set(Array.from({ length: count }, (_, i) => text.slice(i, i + n)));
      const ratio = 1 - seen.size / count;
      if (ratio <= maxRatio) return undefined;
      return { drop: `more than ${maxRatio} of it repeats itself`, details: ratio.toFixed(3) };
    },
});
