import type { Calls } from '../../../src/engine/remote/calls.js';

/** Returns the calls of a server whose answers are the results of functions, keyed by the call. */
export function answeredCalls(
  answers: Readonly<Record<string, (body: Record<string, string>) => object>>,
): Calls {
  const results: object[] = [];
  const submit = async (verb: string, body: Record<string, string>): Promise<string> =>
    String(results.push(answers[verb]!(body)) - 1);
  const result = async (id: string) => results[Number(id)];
  const ask = async (verb: string, body: Record<string, string>) => {
    const id = await submit(verb, body);
    return { ...(await result(id)), request_id: id };
  };
  return { ask, submit, result, failures: () => 0 } as unknown as Calls;
}
