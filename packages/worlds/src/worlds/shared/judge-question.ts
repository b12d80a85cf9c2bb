/** Builds questions for the judge of a training run. */
import type { JudgeQuestion } from '@trinity-rft/environment';

interface QuestionOptions<T> {
  /** Instructions for the judge, which say what to judge and how. */
  readonly rules: string;
  readonly material: Readonly<Record<string, string>>;
  readonly parse: (answer: string) => T | undefined;
  readonly expected: string;
}

/**
 * Puts the material into tags, separate from the rules, so that the judge does not obey instructions
 * that the trained model wrote.
 */
export function judgeQuestion<T>(options: QuestionOptions<T>): JudgeQuestion<T> {
  const { rules, material, parse, expected } = options;
  const parts = Object.entries(material).map(([name, text]) => `<${name}>\n${text}\n</${name}>`);
  return {
    messages: [
      { role: 'system', content: rules },
      { role: 'user', content: parts.join('\n\n') },
    ],
    parse,
    expected,
  };
}

/**
 * Returns true if the last of the two words in the answer is `yes`, or `no` after "not". Returns
 * undefined if the answer contains neither.
 */
export function lastOf(answer: string, yes: string, no: string): boolean | undefined {
  const [, not, found] =
    [...answer.matchAll(new RegExp(`(\\bnot\\s+)?\\b(${yes}|${no})\\b`, 'gi'))].at(-1) ?? [];
  if (found === undefined) return undefined;
  return (found.toLowerCase() === yes.toLowerCase()) === (not === undefined);
}
