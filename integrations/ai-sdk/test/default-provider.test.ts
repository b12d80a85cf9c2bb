import { setImmediate as turn } from 'node:timers/promises';
import { createOpenAI } from '@ai-sdk/openai';
import { inProcessRollouts } from '@trinity-rft/model/testing';
import { scriptedSampler } from '@trinity-rft/testing';
import { embed, gateway, generateText } from 'ai';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { withDefaultProvider } from '../src/default-provider.js';
import { aiSdkModel } from '../src/model.js';

const inProcess = inProcessRollouts();

const ask = async (model = 'openai/gpt-5'): Promise<string> =>
  (await generateText({ model, prompt: 'Hi.' })).text;

/** Opens a scope in which every name resolves to a model that answers `text`. */
async function answering(text: string) {
  const sampler = scriptedSampler({ script: () => inProcess.encode(`${text}<|im_end|>`) });
  const { endpoint } = await inProcess.open({ sampler, signal: new AbortController().signal });
  return () => aiSdkModel(endpoint, createOpenAI);
}

afterEach(() => {
  globalThis.AI_SDK_DEFAULT_PROVIDER = undefined;
});

describe('withDefaultProvider', () => {
  it('gives models that are named as text to the scope of the call, also where scopes overlap', async () => {
    const [a, b] = [await answering('a'), await answering('b')];
    const both = await Promise.all([
      withDefaultProvider(a, async () => [
        await ask(),
        await withDefaultProvider(b, () => ask()),
        await ask(),
      ]),
      withDefaultProvider(b, async () => {
        await turn();
        return [await ask()];
      }),
    ]);
    expect(both).toEqual([['a', 'b', 'a'], ['b']]);
  });

  it('tells the resolver the name', async () => {
    const model = (await answering('a'))();
    const resolve = vi.fn<(modelId: string) => typeof model>(() => model);
    await withDefaultProvider(resolve, () => ask('anthropic/claude'));
    expect(resolve).toHaveBeenCalledExactlyOnceWith('anthropic/claude');
  });

  it('rejects a call outside of every scope while some are open', async () => {
    const gate = Promise.withResolvers<void>();
    const queue = gate.promise.then(() => ask().catch((error: unknown) => error));
    await withDefaultProvider(await answering('a'), async () => {
      gate.resolve();
      expect(await queue).toMatchObject({
        code: 'AI_SDK_NO_SCOPE',
        message: expect.stringContaining('"openai/gpt-5"') as string,
      });
    });
  });

  it('shares its scopes with another copy of the module', async () => {
    vi.resetModules();
    const other = await import('../src/default-provider.js');
    expect(other.withDefaultProvider).not.toBe(withDefaultProvider);
    const [a, b] = [await answering('a'), await answering('b')];
    const both = await Promise.all([
      withDefaultProvider(a, () => turn().then(() => ask())),
      other.withDefaultProvider(b, () => turn().then(() => ask())),
    ]);
    expect(both).toEqual(['a', 'b']);
    expect(globalThis.AI_SDK_DEFAULT_PROVIDER).toBeUndefined();
  });

  it('puts back the provider that was there, and keeps the rest of it meanwhile', async () => {
    const mine = createOpenAI({ apiKey: 'none' });
    globalThis.AI_SDK_DEFAULT_PROVIDER = mine;
    await withDefaultProvider(await answering('a'), async () => {
      expect((globalThis.AI_SDK_DEFAULT_PROVIDER as typeof mine).embeddingModel).toBe(
        mine.embeddingModel,
      );
      expect(await ask()).toBe('a');
    });
    expect(globalThis.AI_SDK_DEFAULT_PROVIDER).toBe(mine);
  });

  it('leaves other models that are named as text to the gateway if there is no provider', async () => {
    const asked = vi.spyOn(gateway, 'embeddingModel').mockImplementation(() => {
      throw new RangeError('the gateway');
    });
    onTestFinished(() => asked.mockRestore());
    await withDefaultProvider(await answering('a'), async () => {
      await expect(embed({ model: 'openai/small', value: 'x' })).rejects.toThrow('the gateway');
      expect(await ask()).toBe('a');
    });
    expect(asked).toHaveBeenCalledExactlyOnceWith('openai/small');
    expect(globalThis.AI_SDK_DEFAULT_PROVIDER).toBeUndefined();
  });

  it('finds the embedding models of a provider without a version', async () => {
    const usage = { tokens: 1 };
    const textEmbeddingModel = () => ({
      ...{ specificationVersion: 'v2', provider: 'old', modelId: 'small', maxEmbeddingsPerCall: 1 },
      doEmbed: () => Promise.resolve({ embeddings: [[1, 2]], usage, warnings: [] }),
    });
    const old: object = { languageModel: () => undefined, textEmbeddingModel };
    globalThis.AI_SDK_DEFAULT_PROVIDER = old as typeof globalThis.AI_SDK_DEFAULT_PROVIDER;
    await withDefaultProvider(await answering('a'), async () => {
      expect((await embed({ model: 'small', value: 'x' })).embedding).toEqual([1, 2]);
      const { text, usage: counted } = await generateText({ model: 'x', prompt: 'Hi.' });
      expect(text).toBe('a');
      expect(counted.outputTokens).toBeGreaterThan(0);
    });
  });

  it('keeps a provider that was set in the meantime, and cleans up after errors', async () => {
    const mine = createOpenAI({ apiKey: 'none' });
    const failing = withDefaultProvider(await answering('a'), async () => {
      globalThis.AI_SDK_DEFAULT_PROVIDER = mine;
      return Promise.reject(new TypeError('no'));
    });
    await expect(failing).rejects.toThrow('no');
    expect(globalThis.AI_SDK_DEFAULT_PROVIDER).toBe(mine);
  });
});
