/**
 * Shares a loaded model with later debug runs. The process that loaded the model serves its sampler
 * over HTTP on the loopback interface, and writes the URL to a file.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeError, ModelError, TrinityError, EngineError } from '@trinity-rft/core';
import type { Sampler, SampledSequence, SamplingOptions } from '@trinity-rft/core/engine';
import { tryJson } from '@trinity-rft/core/support';

/**
 * Name of the JSON file that describes the served model, in the output directory. Only the owner
 * may read the file, because it contains the key.
 */
const servedModelFile = 'inference_model.json';

/** Contents of the JSON file that describes a served model. */
export interface ServedModel {
  /** Path of the model folder. */
  readonly model: string;
  readonly maxModelLen: number;
  readonly policyVersion: number;
  /** URL at which debug runs sample. Requests and responses contain token ids. */
  readonly samplerURL: string;
  readonly samplerKey: string;
  /** URL of the OpenAI routes. */
  readonly baseURL: string;
  readonly apiKey: string;
  readonly pid: number;
}

/** Writes the JSON file that describes a served model. Returns a function that removes the file. */
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
 * Finds the served model that the JSON file in the output directory describes. Returns undefined if
 * the server serves another model folder or does not respond. The file may be left over from an
 * earlier server.
 */
export async function findServedModel(
  outputDirectory: string,
  modelFolder: string,
): Promise<{ readonly sampler: Sampler; readonly url: string } | undefined> {
  const text = await readFile(path.join(outputDirectory, servedModelFile), 'utf8').catch(
    () => undefined,
  );
  const served = tryJson(text) as ServedModel | null | undefined;
  if (served?.model !== modelFolder) return undefined;
  const answer = await fetch(served.samplerURL, {
    headers: bearer(served.samplerKey),
    signal: AbortSignal.timeout(answerTimeoutMs),
  }).catch(() => undefined);
  return answer?.ok === true ? { sampler: remoteSampler(served), url: served.baseURL } : undefined;
}

const answerTimeoutMs = 2000;

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

interface SampleRequest {
  readonly prompt: readonly number[];
  readonly options: SamplingOptions;
}

/** Sequence as JSON, in which doubles hold float32 values exactly. */
type PlainSequence = Omit<SampledSequence, 'tokens' | 'logprobs'> & {
  readonly tokens: readonly number[];
  readonly logprobs: readonly number[];
};

/** Responds to GET with 200 and to POST with sampled sequences. Never rejects. */
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

/**
 * Returns a sampler that sends its requests to the process that serves the model. Equal seeds give
 * equal results.
 */
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
          'A served model cannot adopt other weights. Open an engine in this process instead.',
        ),
      ),
    sample: async (prompt, options, signal) => {
      const body = JSON.stringify({ prompt: [...prompt], options } satisfies SampleRequest);
      const headers = { ...bearer(samplerKey), 'content-type': 'application/json' };
      const response = await fetch(samplerURL, {
        method: 'POST',
        headers,
        body,
        signal,
      }).catch((cause: unknown) => {
        if (signal?.aborted) throw signal.reason;
        throw new EngineError(
          'The served model does not answer. Start it again with --module inference_model.',
          { cause },
        );
      });
      const answer: unknown = await response.json();
      if (!response.ok) throw errorOf(answer, response.status);
      return (answer as readonly PlainSequence[]).map((sequence) => ({
        ...sequence,
        tokens: Int32Array.from(sequence.tokens),
        logprobs: Float32Array.from(sequence.logprobs),
      }));
    },
  };
}

function errorOf(answer: unknown, status: number): Error {
  const { message = `The served model answered with status ${status}.`, code } = answer as {
    message?: string;
    code?: string;
  };
  return status === 500 ? new EngineError(message) : new ModelError(message, { status, code });
}
