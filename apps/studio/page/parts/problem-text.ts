import { words } from '../words/rollouts.js';

const known: Readonly<Record<string, string>> = words.problemTexts;

/**
 * Explains a recorded problem in a sentence.
 * @param problem name of a known problem, or a message, which is returned unchanged
 */
export const problemText = (problem: string): string => known[problem] ?? problem;
