/**
 * A model that stays loaded between debug runs: its sampler over loopback HTTP, and the file that
 * says where it is.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  describeError,
  EngineError,
  ModelError,
  TrinityError,
  type SampledSequence,
  type Sampler,
  type SamplingOptions,
} from '@trinity-rft/core';

/** In the output directory, readable by its owner only: it holds the key. */
const servedModelFile = 'inference_model.json';

/** Where a served model is. */
export interface ServedModel {
  /** The model folder. */
  readonly model: string;
  readonly maxModelLen: number;
  readonly policyVersion: number;
  /** For debug runs, token ids in and out. */
  readonly samplerURL: string;
  readonly samplerKey: string;
  /** OpenAI routes. */
  readonly baseURL: string;
  readonly apiKey: string;
  readonly pid: number;
}

export async function writeServedModel(
  outputDirectory: string,
  served: ServedModel,
): Promise<() => Promise<void>> {
  const file = path.join(outputDirectory, servedModelFile);
  await rm(file, { force: true });
  await writeFile(file, `${JSON.stringify(served, undefined, 2)}\n`, { mode: 0o600 });
  return () => rm(file, { force: true });
}

/**
 * The served model of this folder, when it answers. What its file says may be outdated: then there
 * is none.
 */
export async function findServedModel(
  outputDirectory: string,
  modelFolder: string,
): Promise<{ readonly sampler: Sampler; readonly url: string } | undefined> {
  const text = await readFile(path.join(outputDirectory, servedModelFile), 'utf8').catch(
    () => undefined,
  );
  if (text === undefined) return undefined;
  const served = parse(text);
  if (served?.model !== modelFolder) return undefined;
  const answer = await fetch(served.samplerURL, {
    headers: bearer(served.samplerKey),
    signal: AbortSignal.timeout(answersWithinMs),
  }).catch(() => undefined);
  return answer?.ok === true ? { sampler: remoteSampler(served), url: served.baseURL } : undefined;
}

const answersWithinMs = 2000;

function parse(text: string): ServedModel | undefined {
  try {
    return JSON.parse(text) as ServedModel;
  } catch {
    return undefined;
  }
}

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

/** What {@link samplerHandler} is asked. */
interface SampleRequest {
  readonly prompt: readonly number[];
  readonly options: SamplingOptions;
}

/** As plain JSON: doubles hold a float32 exactly. */
type PlainSequence = Omit<SampledSequence, 'tokens' | 'logprobs'> & {
  readonly tokens: readonly number[];
  readonly logprobs: readonly number[];
};

/** Answers GET with 200 and POST with sampled sequences. Never rejects. */
export function samplerHandler(sampler: Sampler): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method === 'GET') return Response.json({ ok: true });
    try {
      const { prompt, options } = (await request.json()) as SampleRequest;
      const sequences = await sampler.sample(Int32Array.from(prompt), options, request.signal);
      return Response.json(
        sequences.map((sequence) => ({
          ...sequence,
          tokens: [...sequence.tokens],
          logprobs: [...sequence.logprobs],
        })),
      );
    } catch (error) {
      const status = error instanceof ModelError ? error.status : 500;
      const code = TrinityError.is(error) ? error.code : undefined;
      return Response.json({ message: describeError(error), code }, { status });
    }
  };
}

/** Samples in the process that has the model. Equal seeds give what the embedded engine gives. */
function remoteSampler({
  samplerURL,
  samplerKey,
  maxModelLen,
  policyVersion,
}: ServedModel): Sampler {
  return {
    maxModelLen,
    policyVersion,
    adopt: () =>
      Promise.reject(
        new EngineError(
          'A served model keeps its weights; expected no adopt(). Open an engine here instead.',
        ),
      ),
    sample: async (prompt, options, signal) => {
      const body = JSON.stringify({ prompt: [...prompt], options } satisfies SampleRequest);
      const headers = { ...bearer(samplerKey), 'content-type': 'application/json' };
      const response = await fetch(samplerURL, {
        method: 'POST',
        headers,
        body,
        ...(signal && { signal }),
      }).catch((cause: unknown) => {
        if (signal?.aborted) throw signal.reason;
        throw new EngineError(
          'The served model does not answer; expected the process of --module inference_model. Start it again.',
          {
            cause,
          },
        );
      });
      const answer: unknown = await response.json();
      if (!response.ok) throw refused(answer, response.status);
      return (answer as readonly PlainSequence[]).map((sequence) => ({
        ...sequence,
        tokens: Int32Array.from(sequence.tokens),
        logprobs: Float32Array.from(sequence.logprobs),
      }));
    },
  };
}

function refused(answer: unknown, status: number): Error {
  const { message = `The served model answered with status ${status}.`, code } = answer as {
    message?: string;
    code?: string;
  };
  return status === 500
    ? new EngineError(message)
    : new ModelError(message, { status, ...(code !== undefined && { code }) });
}
