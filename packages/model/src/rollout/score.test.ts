import { ModelError } from '@trinity-rft/core';
import type { Sampler, TokenRow } from '@trinity-rft/core/engine';
import { scriptedSampler } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import { format, modelOver, scripted } from '../../test/helpers.js';

function scoring(defaults: object = {}) {
  const rows: TokenRow[] = [];
  const sampler: Sampler = {
    ...scriptedSampler({ script: [] }),
    score: async (row, signal) => {
      signal?.throwIfAborted();
      rows.push(row);
      return new Float32Array(row.tokens.length - row.promptLength).fill(-1);
    },
  };
  return { rows, model: modelOver(sampler, { defaults }) };
}

describe('logprobs', () => {
  it('scores given tokens at the temperature of the call, else of the model, else 1', async () => {
    const { model, rows } = scoring({ temperature: 0.5 });
    expect([...(await model.logprobs([1, 2, 3], 1))]).toEqual([-1, -1]);
    await model.logprobs(Int32Array.of(1, 2), 1, { temperature: 2 });
    expect(rows).toEqual([
      { tokens: Int32Array.of(1, 2, 3), promptLength: 1, temperature: 0.5 },
      { tokens: Int32Array.of(1, 2), promptLength: 1, temperature: 2 },
    ]);
    const greedy = scoring({ temperature: 0 });
    await greedy.model.logprobs([1, 2], 1);
    expect(greedy.rows[0]!.temperature).toBe(1);
  });

  it('records nothing', async () => {
    const { model } = scoring();
    await model.logprobs([1, 2], 1);
    expect(model.extractExperiencesFromHistory()).toEqual([]);
  });

  it('says what is wrong, and what the engine cannot', async () => {
    const { model } = scoring();
    await expect(model.logprobs([1, 2], 2)).rejects.toMatchObject({
      name: 'ModelError',
      status: 400,
    });
    await expect(model.logprobs([1, 2], 0)).rejects.toThrow('got 2 tokens with promptLength 0');
    await expect(model.logprobs([1, 2], 1, { temperature: 0 })).rejects.toThrow(
      'Expected a number above 0',
    );
    await expect(model.logprobs([1, 2], 1, { signal: AbortSignal.abort() })).rejects.toThrow(
      'aborted',
    );
    await expect(scripted([]).model.logprobs([1, 2], 1)).rejects.toThrow(ModelError);
    await expect(scripted([]).model.logprobs([1, 2], 1)).rejects.toThrow(
      'cannot score tokens that it did not sample',
    );
  });
});

it('gives all models of a tokenizer one vocabulary', () => {
  const [first, second] = [scripted([]).model.vocabulary, scripted([]).model.vocabulary];
  expect(first).toBe(second);
  const id = format.tokenizer.tokenToId('a')!;
  expect(first!.token(id)).toBe('a');
  expect(first!.size).toBe(format.tokenizer.vocabularySize);
});
