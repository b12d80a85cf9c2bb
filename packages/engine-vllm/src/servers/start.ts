/**
 * Checks, before the first call, that a server was started with the options that the training run
 * requires.
 */
import { ConfigError } from '@trinity-rft/core';
import type { VocabularySample } from '@trinity-rft/core/engine';
import { ServerFault } from '../wire/fault.js';
import type { Dialect, SamplingServer, ServedModel } from './calls.js';
import { compareVocabulary } from './vocabulary.js';

/** Facts about a server that passed the checks. */
export interface ServerFacts extends ServedModel {
  readonly hasTokenizer: boolean;
  /**
   * Describes a string that the server tokenizes differently from the training run; undefined if
   * none was found.
   */
  readonly otherTokens: string | undefined;
}

interface Needs {
  /**
   * Required maximum sequence length in tokens; undefined if any limit of the server is accepted.
   */
  readonly maxModelLen: number | undefined;
  readonly vocabSize: number;
  /**
   * Part of the training run's vocabulary, to compare with the server's; undefined if they are not
   * compared.
   */
  readonly vocabulary: VocabularySample | undefined;
}

/**
 * Checks a server's model, maximum sequence length, log-probabilities and vocabulary.
 * @throws ConfigError, with advice, if one of these does not fit; ServerFault if the server does
 * not respond
 */
export async function startedRight(
  server: SamplingServer,
  { maxModelLen, vocabSize, vocabulary }: Needs,
  signal: AbortSignal,
): Promise<ServerFacts> {
  const { lengthOption, spareTokens, renormalises, cures: curesFor } = server.dialect;
  const cures = curesFor(vocabSize);
  const explained = <T>(ask: () => Promise<T>): Promise<T> => explain(server, cures, ask);
  const model = await explained(() => server.model(signal));
  const needed = (maxModelLen ?? 0) + spareTokens;
  if (model.maxModelLen < needed)
    throw unfit(
      server,
      `it takes texts of ${model.maxModelLen} tokens and ${needed} are needed. Start it with ${lengthOption} ${needed}`,
    );
  const options = { topK: 1, maxTokens: 1, seed: 1 };
  const prompt = Int32Array.of(vocabSize - 1);
  const request = { model: model.name, prompt, options, vocabSize };
  const [first] = await explained(() => server.generate(request, signal));
  if (renormalises && Math.abs(first?.logprobs[0] ?? -Infinity) > 1e-3)
    throw unfit(
      server,
      'its log-probabilities are not those of the distribution that it samples from. Start it with --logprobs-mode processed_logprobs',
    );
  const hasTokenizer = await explained(() => server.hasTokenizer(model.name, signal));
  const otherTokens =
    hasTokenizer && vocabulary
      ? await explain(server, {}, () => compareVocabulary(server, model.name, vocabulary, signal))
      : undefined;
  return { ...model, hasTokenizer, otherTokens };
}

type Cures = ReturnType<Dialect['cures']>;

async function explain<T>(server: SamplingServer, cures: Cures, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ServerFault) || error.kind !== 'refused') throw error;
    const cure = cures[error.status ?? 0];
    throw unfit(server, cure === undefined ? error.message : `${error.message}. ${cure}`);
  }
}

const unfit = ({ url, dialect }: SamplingServer, what: string): ConfigError =>
  new ConfigError(`The ${dialect.name} server ${url} cannot be used: ${what.replace(/\.$/, '')}.`, {
    code: 'SAMPLER_SERVER_UNFIT',
  });
