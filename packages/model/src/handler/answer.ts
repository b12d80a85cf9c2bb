/** What a handler gives back: a Response, or an answer that is complete and needs none. */

/** A server of ours writes it in one piece; for everybody else {@link toResponse} makes a Response, which costs more than the rest of a call. */
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

export const isWhole = (answer: Answer): answer is WholeAnswer => !(answer instanceof Response);

/** A client counts as served when it has taken the text. Cancelling the body means that it has gone. */
export function toResponse(answer: Answer): Response {
  if (!isWhole(answer)) return answer;
  const { status, headers, text } = answer;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        controller.enqueue(new TextEncoder().encode(text));
        answer.delivered();
        controller.close();
      },
      cancel: () => answer.lost(),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { status, headers });
}
