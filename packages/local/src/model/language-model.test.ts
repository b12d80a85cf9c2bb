import { expect, it } from 'vitest';
import { languageModel, type ProviderSettings } from './language-model.js';

it('gives the provider a key, which createOpenAI requires', () => {
  const model = { name: 'mine', fetch };
  const settings = languageModel(model, (given: ProviderSettings) => (id) => ({ ...given, id }));
  expect(settings).toMatchObject({ id: 'mine', apiKey: 'none', fetch });
});
