/** Failures of graders, with the flags by which OpenAI's API reports them. */
import { RewardError } from '@trinity-rft/core';
import type { GraderRunResponse } from 'openai/resources/fine-tuning/alpha/graders';

/** `metadata.errors` of a grader run, with the names of OpenAI's API. */
export type GraderErrors = Readonly<GraderRunResponse.Metadata.Errors>;

type Flag = {
  [K in keyof GraderErrors]: GraderErrors[K] extends boolean ? K : never;
}[keyof GraderErrors];

const noErrors: GraderErrors = {
  formula_parse_error: false,
  invalid_variable_error: false,
  model_grader_parse_error: false,
  model_grader_refusal_error: false,
  model_grader_server_error: false,
  model_grader_server_error_details: null,
  other_error: false,
  python_grader_runtime_error: false,
  python_grader_runtime_error_details: null,
  python_grader_server_error: false,
  python_grader_server_error_type: null,
  sample_parse_error: false,
  truncated_observation_error: false,
  unresponsive_reward_error: false,
};

/** For each flag that comes with an error text, the field for the text. */
const textFields: Partial<Record<Flag, keyof GraderErrors>> = {
  model_grader_server_error: 'model_grader_server_error_details',
  python_grader_runtime_error: 'python_grader_runtime_error_details',
  python_grader_server_error: 'python_grader_server_error_type',
};

const code = 'GRADER_FAILED';

/**
 * Creates the error for a grader that failed to score an answer.
 * @param text value of the field for the flag's error text. @default message
 */
export const graderFault = (flag: Flag, message: string, text = message): RewardError =>
  new RewardError(message, { code, details: { flag, text } });

export const isGraderFault = (error: unknown): error is RewardError =>
  error instanceof RewardError && error.code === code;

/** Returns the error fields of a grader run with the flags of all failures. */
export function errorsOf(faults: readonly RewardError[]): GraderErrors {
  const errors: Record<string, boolean | string | null> = { ...noErrors };
  for (const { details } of faults) {
    const flag = details['flag'] as Flag;
    errors[flag] = true;
    const field = textFields[flag];
    if (field !== undefined) errors[field] ??= String(details['text']);
  }
  return errors as unknown as GraderErrors;
}
