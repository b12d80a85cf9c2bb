/**
 * Medical consultations, generated from a seed. In each case, some topics have been asked about and
 * others have not.
 */
import { createRandom } from '@trinity-rft/core';
import { pick } from '../shared/pick.js';

interface Topic {
  readonly name: string;
  readonly ask: string;
  readonly answers: readonly string[];
  /**
   * Prefixes of words or phrases that show that a question is about the topic. A prefix that ends
   * with a space matches only whole words.
   */
  readonly words: readonly string[];
}

const list = (text: string): readonly string[] => text.split(', ');
const topics: readonly Topic[] = [
  {
    name: 'duration',
    ask: 'How long have you had this?',
    answers: list('For two days, About a week, Since yesterday'),
    words: list('how long, since when, when did, start'),
  },
  {
    name: 'fever',
    ask: 'Do you have a fever?',
    answers: list('Yes - 38.5, No fever, A little last night'),
    words: list('fever, temperature'),
  },
  {
    name: 'medication',
    ask: 'Which medication do you take?',
    answers: list('None, Only ibuprofen, Something for my blood pressure'),
    words: list('medication, medicine, drug, pills, taking'),
  },
  {
    name: 'allergies',
    ask: 'Do you have any allergies?',
    answers: list('Not that I know, Penicillin, Pollen'),
    words: list('allerg'),
  },
  {
    name: 'age',
    ask: 'How old are you?',
    answers: list('I am 34, 61, Nearly 50'),
    words: ['how old', 'age '],
  },
  {
    name: 'severity',
    ask: 'How strong is it, from 1 to 10?',
    answers: list('A 4, Perhaps 7, It was 9 last night'),
    words: list('how strong, how bad, severe, severity, scale, from 1 to 10 '),
  },
  {
    name: 'history',
    ask: 'Did you ever have this before?',
    answers: list('Never, Once as a child, Every winter'),
    words: list('before, previous, earlier, history'),
  },
  {
    name: 'smoking',
    ask: 'Do you smoke?',
    answers: list('No, Ten a day, I stopped last year'),
    words: list('smok, tobacco'),
  },
];
const complaints = list(
  'a sore throat, a headache, a cough, back pain, a rash, stomach ache, dizziness, an earache',
);

export interface Case {
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[];
  readonly decision_truth: 'continue' | 'stop';
  /** Relevant topics that have not been asked about yet. */
  readonly info_truth: readonly string[];
}

/**
 * Draws a case.
 * @param size number of relevant topics in a case
 */
export function drawCase(size: number, seed: number): Case {
  const random = createRandom(seed);
  const relevant = random.shuffle(topics).slice(0, size);
  const asked = relevant.slice(0, random.integer(size + 1));
  const complaint = pick(complaints, random);
  const needs = `My doctor needs to know: ${relevant
    .map(({ name }) => name)
    .toSorted()
    .join(', ')}.`;
  return {
    messages: [
      { role: 'user', content: `I have ${complaint}. ${needs}` },
      ...asked.flatMap(({ ask, answers }) => [
        { role: 'assistant' as const, content: ask },
        { role: 'user' as const, content: `${pick(answers, random)}.` },
      ]),
    ],
    decision_truth: asked.length === size ? 'stop' : 'continue',
    info_truth: relevant.slice(asked.length).map(({ name }) => name),
  };
}

export const questionAbout = (name: string | undefined): string =>
  topics.find((topic) => topic.name === name)?.ask ?? '';

/** Returns the topics that a question asks about. */
export const topicsOf = (question: string): readonly string[] =>
  topics
    .filter(({ words }) => words.some((word) => spaced(question).includes(` ${word}`)))
    .map(({ name }) => name);

/** Returns the words of a text in lower case, each between spaces. */
const spaced = (text: string): string =>
  ` ${(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(' ')} `;
