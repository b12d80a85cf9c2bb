/** The agent, its judge, and the prompts that the model of this example knows. */
import type { Components, JudgeInput, PromptedInput } from '@trinity-rft/tuner';

/** A row of the data set. */
export interface Problem {
  readonly question: string;
  readonly answer: string;
}

export const basePrompt = 'You add numbers.';

/** Sentences after the base prompt, each with the share of wrong digits in the worked examples with that prompt. */
export const slips: Readonly<Record<string, number>> = {
  '': 0.7,
  ' Be quick.': 0.9,
  ' Check every digit.': 0.1,
};

export const modelFields = (modelPath: string) => ({ modelPath, maxModelLen: 22, maxTokens: 6 });
export const baseComponents: Components = { system: basePrompt };

/** Agent that is both trained and compared. */
export async function solve({ task, model, systemPrompt }: PromptedInput<Problem>) {
  const [answer] = await model.chat([
    { role: 'system', content: systemPrompt },
    { role: 'user', content: task.question },
  ]);
  return { response: answer?.responseText ?? '' };
}

/** Judge whose feedback the proposer learns from. */
export const judge = ({ task, response }: JudgeInput<Problem, string>) =>
  response.trim() === task.answer
    ? { reward: 1 }
    : { reward: 0, feedback: `The answer is ${task.answer}: a digit is wrong.` };
