/**
 * The simulated customer of a case. The customer states a wish, confirms it if asked, and leaves
 * when it is granted or denied.
 */
import { saysAnswer } from '../shared/answers.js';
import type { RetailCase } from './cases.js';
import { sayWish } from './cases.js';

export interface Reply {
  readonly text: string;
  /** True if the customer leaves. */
  readonly isEnd: boolean;
}

/**
 * Phrases by which the clerk denies the wish. `saysAnswer` treats an apostrophe as a word
 * separator.
 */
const denials = ['cannot', 'can not', "can't", 'not possible', 'unable', 'not allowed'];

/** Topics that the clerk may ask about, with the words that name them. */
const topics = {
  identity: ['name', 'zip', 'zipcode', 'who are you', 'identity', 'verify', 'verification'],
  email: ['email', 'e-mail'],
  reason: ['reason', 'why'],
  address: ['address', 'where'],
  consent: ['confirm', 'confirmation', 'proceed', 'yes', 'shall i', 'should i'],
};

const says = (text: string, phrases: readonly string[]): boolean =>
  phrases.some((phrase) => saysAnswer(text, phrase));

/** Returns true if a sentence asks the customer for something, as in `not without your name`. */
const asks = (sentence: string): boolean =>
  /\?|\b(?:please|without|until|unless)\b/i.test(sentence) &&
  says(sentence, Object.values(topics).flat());

const stay = (text: string): Reply => ({ text, isEnd: false });

/**
 * Returns the customer's reply, which depends only on the case and on keywords in the clerk's
 * message. The customer leaves once the wish is granted, or after a denial that does not also ask
 * for information.
 */
export function reply(words: string, given: RetailCase, isGranted: boolean): Reply {
  const { customer, wish } = given;
  if (isGranted) return { text: 'Great, thank you. Goodbye.', isEnd: true };
  if (says(words, denials) && !words.split(/(?<=[.!?])\s/).some(asks))
    return { text: 'Oh, that is a pity. Goodbye then.', isEnd: true };
  const facts = [
    ...(says(words, topics.identity)
      ? [`I am ${customer.name}, my zip code is ${customer.zip}.`]
      : []),
    ...(says(words, topics.email) ? [`My email is ${customer.email}.`] : []),
    ...(says(words, topics.reason) && wish.kind === 'cancel'
      ? [`The reason: ${wish.reason}.`]
      : []),
    ...(says(words, topics.address) && wish.kind === 'move'
      ? [`The new address is ${wish.address}.`]
      : []),
    ...(says(words, topics.consent) ? ['Yes, please.'] : []),
  ];
  return stay(facts.length > 0 ? facts.join(' ') : sayWish(given));
}
