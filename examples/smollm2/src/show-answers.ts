/** Asks the model of a run questions, and prints its answers. */
import { serveDebugModel } from '@trinity-rft/inspect';
import OpenAI from 'openai';

export interface ShowOptions {
  readonly configPath: string;
  /** True to use the newest checkpoint instead of the model that the run starts from. */
  readonly trained: boolean;
  readonly questions: readonly string[];
  readonly write: (text: string) => void;
}

/** Prints greedy answers, one line each. */
export async function showAnswers(options: ShowOptions): Promise<void> {
  const { configPath, trained, questions, write } = options;
  const served = await serveDebugModel({
    configPath,
    newestCheckpoint: trained,
    outputDirectory: 'runs/served',
    pluginDirs: ['plugins'],
  });
  try {
    const client = new OpenAI({ baseURL: served.baseURL, apiKey: served.apiKey });
    for (const content of questions) {
      const { choices } = await client.chat.completions.create({
        model: served.model,
        messages: [{ role: 'user', content }],
        temperature: 0,
      });
      const answer = choices[0]?.message.content ?? '';
      write(`  ${content}\n    ${JSON.stringify(answer)}\n`);
    }
  } finally {
    await served.close();
  }
}
