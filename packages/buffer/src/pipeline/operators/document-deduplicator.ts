/** Removes tasks with the same text as an earlier task. */
import { hash } from 'node:crypto';
import { booleanArg } from '@trinity-rft/core';
import { defineTaskOperator } from '../definition/operator.js';
import { textOf } from './texts.js';

export const documentDeduplicator = defineTaskOperator({
  name: 'document_deduplicator',
  args: {
    lowercase: booleanArg(false, 'Upper and lower case are the same.'),
    ignoreNonCharacter: booleanArg(false, 'Only letters count.'),
  },
  create: ({ lowercase, ignoreNonCharacter }) => {
    const seen = new Set<string>();
    return (rawTask, { fields }) => {
      const text = textOf(rawTask, fields);
      const cased = lowercase ? text.toLowerCase() : text;
      const compared = ignoreNonCharacter ? cased.replaceAll(/[^\p{L}]/gu, '') : cased;
      const digest = hash('sha256', compared, 'hex');
      if (seen.has(digest)) return { drop: 'the text of an earlier task' };
      seen.add(digest);
      return undefined;
    };
  },
});
