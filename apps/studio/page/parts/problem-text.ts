/** Problems of rollouts as sentences. */
import { words } from '../words/rollouts.js';

const known: Readonly<Record<string, string>> = words.problemTexts;

/** @param problem as recorded: the name of a known one, or a message */
export const problemText = (problem: string): string => known[problem] ?? problem;
