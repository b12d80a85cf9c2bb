/** What a handler gives back: a Response, or an answer that is complete and needs none. */

import { body } from './deliver.js';

/**
 * A server of ours writes it in one piece; for everybody else {@link toResponse} makes a Response,
 * which costs more than the rest of a call.
 */
export interface WholeAnswer {
  readonly status: 200;
  /** With its length. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** It is on its way to a client that is there. */
  delivered(): void;
  /** The client went away before. */
  lost(): void;
}

export type Answer = Response | WholeAnswer;

/** Never rejects. */
export type AnswerHandler = (request: Request) => Promise<Answer>;

export const isWhole = (answer: Answer): answer is WholeAnswer => typeof answer.text === 'string';

/**
 * A client counts as served when it has taken the text. Cancelling the body means that it has gone.
 */
export function toResponse(answer: Answer): Response {
  if (!isWhole(answer)) return answer;
  const { status, headers, text } = answer;
  return new Response(
    body(answer, () => Promise.resolve([text])),
    { status, headers },
  );
}
