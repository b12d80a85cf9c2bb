/** What a request asks for of the form of its answer, read from either API. */
import type { AnswerForm } from '@trinity-rft/chat';
import type { AnswerFormat } from './response-format.js';
import type { ToolChoice } from './tool-choice.js';

/** Without the tools, which the request has anyway. */
export type WantedForm = Omit<AnswerForm, 'tools'>;

/**
 * Nothing where the request leaves the form open. @param fields names of the fields for calls and
 * for the answer
 * @returns the form, and the names of the fields that ask for it
 */
export function formOf(
  choice: ToolChoice,
  format: AnswerFormat | undefined,
  [callField, answerField]: readonly [string, string],
): { readonly formFields: readonly string[]; readonly form?: WantedForm } {
  const forced = choice !== 'auto' && choice !== 'none';
  if (!forced && !format) return { formFields: [] };
  const answer = format && {
    type: format.type,
    param: answerField,
    ...(format.schema && { schema: format.schema }),
  };
  return {
    formFields: [...(forced ? [callField] : []), ...(format ? [answerField] : [])],
    form: { calls: choice, ...(answer && { answer }) },
  };
}
