/** Reads what `streamText` and `agent.stream` give. */

interface StreamResult {
  readonly fullStream: AsyncIterable<{ readonly type: string; readonly error?: unknown }>;
  readonly text: PromiseLike<string>;
}

/** The text of the last turn. Streams tell errors as parts, which are thrown here. */
export async function readStream(result: StreamResult): Promise<string> {
  for await (const part of result.fullStream) if (part.type === 'error') throw part.error;
  return result.text;
}
