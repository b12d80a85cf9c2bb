/**
 * The customer of a case. The customer states the wish, confirms it, and leaves after it is granted
 * or denied.
 */
import type { RetailCase } from './cases.js';
import { sayWish } from './cases.js';

export interface Reply {
  readonly text: string;
  /** True if the customer leaves. */
  readonly isEnd: boolean;
}

const stay = (text: string): Reply => ({ text, isEnd: false });

/**
 * Returns the customer's answer, which depends on keywords in the clerk's message. Equal messages
 * get equal answers.
 */
export function reply(words: string, given: RetailCase, isGranted: boolean): Reply {
  const { customer, wish } = given;
  const said = words.toLowerCase();
  const asks = (...all: readonly string[]) => all.some((word) => said.includes(word));
  if (isGranted) return { text: 'Great, thank you. Goodbye.', isEnd: true };
  if (asks('cannot', "can't", 'not possible', 'unable', 'not allowed'))
    return { text: 'Oh, that is a pity. Goodbye then.', isEnd: true };
  const facts = [
    ...(asks('name', 'zip', 'who are you', 'identity', 'verify')
      ? [`I am ${customer.name}, my zip code is ${customer.zip}.`]
      : []),
    ...(asks('email') ? [`My email is ${customer.email}.`] : []),
    ...(asks('reason', 'why') && wish.kind === 'cancel' ? [`The reason: ${wish.reason}.`] : []),
    ...(asks('address', 'where') && wish.kind === 'move'
      ? [`The new address is ${wish.address}.`]
      : []),
    ...(asks('confirm', 'proceed', 'yes', 'shall i', 'should i') ? ['Yes, please.'] : []),
  ];
  return stay(facts.length > 0 ? facts.join(' ') : sayWish(given));
}
