/** Reads the streams of `streamText` and `agent.stream`. */

interface StreamResult {
  readonly fullStream: AsyncIterable<{ readonly type: string; readonly error?: unknown }>;
  readonly text: PromiseLike<string>;
}

/** Text of the last turn. Errors, which streams report as parts, are thrown. */
export async function readStream(result: StreamResult): Promise<string> {
  for await (const part of result.fullStream) if (part.type === 'error') throw part.error;
  return result.text;
}
