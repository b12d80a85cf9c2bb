/** What a server must be able to do, asked before the first call. */
import { ConfigError } from '@trinity-rft/core';
import { ServerFault } from '../wire/fault.js';
import { generatePath } from '../wire/generate.js';
import type { ServedModel, VllmServer } from './calls.js';

/** What is known of a server that was started as it must be. */
export interface ServerFacts extends ServedModel {
  readonly hasTokenizer: boolean;
}

interface Needs {
  /** Undefined: whatever it allows. */
  readonly maxModelLen: number | undefined;
  readonly vocabSize: number;
}

/**
 * @throws ConfigError naming the option of the server that does not fit; ServerFault while it does
 * not answer
 */
export async function startedRight(
  server: VllmServer,
  { maxModelLen, vocabSize }: Needs,
  signal: AbortSignal,
): Promise<ServerFacts> {
  const model = await explained(server, () => server.model(signal));
  // One more than the longest text, because vLLM scores a text only if it may add a token.
  if (maxModelLen !== undefined && model.maxModelLen <= maxModelLen)
    throw unfit(
      server,
      `it takes texts of ${model.maxModelLen} tokens and ${maxModelLen + 1} are needed. Start it with --max-model-len ${maxModelLen + 1}`,
    );
  const options = { topK: 1, maxTokens: 1, seed: 1 };
  const request = { model: model.name, prompt: Int32Array.of(1), options, vocabSize };
  const [first] = await explained(server, () => server.generate(request, signal));
  if (Math.abs(first?.logprobs[0] ?? -Infinity) > 1e-3)
    throw unfit(
      server,
      'its log-probabilities are not those of the distribution that it samples from. Start it with --logprobs-mode processed_logprobs',
    );
  const hasTokenizer = await explained(server, () => server.hasTokenizer(model.name, signal));
  return { ...model, hasTokenizer };
}

async function explained<T>(server: VllmServer, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ServerFault) || error.kind !== 'refused') throw error;
    throw unfit(server, `${error.message}${cureOf(error)}`);
  }
}

function cureOf({ status }: ServerFault): string {
  if (status === 401) return '. Set api_key to the key that it was started with';
  if (status === 403 || status === 404)
    return `. Start it with --enable-scale-out, which opens ${generatePath} (vLLM 0.32 or newer)`;
  return '';
}

const unfit = ({ url }: VllmServer, what: string): ConfigError =>
  new ConfigError(`The vLLM server ${url} cannot be used: ${what.replace(/\.$/, '')}.`, {
    code: 'SAMPLER_SERVER_UNFIT',
  });
