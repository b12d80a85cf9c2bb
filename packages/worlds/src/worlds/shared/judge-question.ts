/** Builds prompts for the judge of a training run. */
import type { JudgeQuestion } from '@trinity-rft/environment';

interface QuestionOptions<T> {
  /** Instructions that tell the judge what to judge and how. */
  readonly rules: string;
  readonly material: Readonly<Record<string, string>>;
  readonly parse: (answer: string) => T | undefined;
  readonly expected: string;
}

/**
 * Builds a prompt for the judge. The material to grade is in tags and separate from the rules, to
 * keep the judge from obeying instructions that the trained model wrote.
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
 * Returns the verdict in the judge's response, which is its last occurrence of `yes` or `no` (the
 * words given as parameters). Returns true for `yes`, false for `no`, the opposite if "not"
 * precedes the word, and undefined if neither word occurs.
 */
export function lastOf(answer: string, yes: string, no: string): boolean | undefined {
  const [, not, found] =
    [...answer.matchAll(new RegExp(`(\\bnot\\s+)?\\b(${yes}|${no})\\b`, 'gi'))].at(-1) ?? [];
  if (found === undefined) return undefined;
  return (found.toLowerCase() === yes.toLowerCase()) === (not === undefined);
}
