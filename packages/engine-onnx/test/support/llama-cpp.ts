/** llama.cpp of the npm package node-llama-cpp: log-probabilities of given tokens. */
import { getLlama, LlamaLogLevel, type Llama, type Token } from 'node-llama-cpp';

let opened: Promise<Llama | undefined> | undefined;

/** Loads llama.cpp, once for all tests of a process; undefined if the package has no library for the platform. */
export const findLlama = (): Promise<Llama | undefined> =>
  (opened ??= getLlama({
    gpu: false,
    build: 'never',
    skipDownload: true,
    logLevel: LlamaLogLevel.error,
    maxThreads: 1,
  }).catch(() => undefined));

export interface LlamaRun {
  readonly model: string;
  readonly adapter?: string;
  readonly tokens: readonly number[];
}

/** Log-probabilities of the tokens after the first. The cache holds float32: its default of float16 costs 2e-3. */
export async function llamaLogprobs(
  llama: Llama,
  { model: modelPath, adapter, tokens }: LlamaRun,
): Promise<Float32Array> {
  const model = await llama.loadModel({ modelPath, gpuLayers: 0, useMmap: false });
  try {
    const context = await model.createContext({
      contextSize: 256,
      batchSize: 256,
      threads: 1,
      flashAttention: false,
      experimentalKvCacheKeyType: 'F32',
      experimentalKvCacheValueType: 'F32',
      ...(adapter !== undefined && { lora: adapter }),
    });
    // Without these, node-llama-cpp samples from the most probable tokens alone.
    const options = { temperature: 1, topK: 0, topP: 1, minP: 0 };
    const output = await context
      .getSequence()
      .controlledEvaluate(
        tokens
          .slice(0, -1)
          .map((token) => [token as Token, { generateNext: { probabilities: true, options } }]),
      );
    return Float32Array.from(tokens.slice(1), (token, i) =>
      Math.log(output[i]?.next.probabilities?.get(token as Token) ?? 0),
    );
  } finally {
    await model.dispose();
  }
}
