/** The one math checker: does a response give the expected answer? */
import { boxedAnswers, extractAnswer, extractTruth } from '../extract.js';

/** Does the final answer of `response`, wherever it stands, equal `truth`? Never throws; work is linear in the lengths. */
export function checkMathAnswer(response: string, truth: string): boolean {
  const answer = extractAnswer(response);
  return answer !== undefined && sameMath(answer.text, extractTruth(truth));
}

/** As {@link checkMathAnswer}, but only a box counts. */
export function checkBoxedAnswer(response: string, truth: string): boolean {
  const box = boxedAnswers(response).at(-1);
  return box !== undefined && sameMath(box, extractTruth(truth));
}

function sameMath(a: string, b: string): boolean {
  const left = plain(a);
  const right = plain(b);
  return left === right || (left !== '' && right !== '' && Number(left) === Number(right));
}

const plain = (text: string): string => text.replace(/[$\s,%]/g, '').replace(/\.$/, '');
