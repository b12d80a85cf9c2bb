/** Language model of the tests with the tag `external`, fetched once into the example's folder. */
import path from 'node:path';
import { fetchModel } from '../../src/fetch-model.ts';

const directory = path.join(import.meta.dirname, '..', '..', 'runs', 'model');

/** Path of the GGUF file, or the reason why it is missing. */
export type FoundModel = { readonly file: string } | { readonly missing: string };

export async function findModel(): Promise<FoundModel> {
  try {
    return { file: await fetchModel({ directory, write: () => undefined }) };
  } catch (error) {
    return { missing: `no model: ${(error as Error).message}` };
  }
}
