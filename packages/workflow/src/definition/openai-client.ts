/** Creates clients of the `openai` package, which is loaded when the first client is created. */
import { createRequire } from 'node:module';
import type * as openai from 'openai';
import type { ClientOptions, OpenAI } from 'openai';

// `require` is used because `import()` would be asynchronous. The file is the module that `import
// 'openai'` loads, so that errors are instances of the classes that a program imports.
const load = (): typeof openai =>
  createRequire(import.meta.url)('openai/index.mjs') as typeof openai;

/**
 * Creates a client. Loads the package on first use, because loading takes a tenth of a second and
 * many programs need no client.
 */
export function createOpenAIClient(options: ClientOptions): OpenAI {
  const { OpenAI: Client } = load();
  return new Client(options);
}
