/** `trinity serve --openai-fine-tuning`: runs jobs of OpenAI's fine-tuning API on this machine. */
import type { CommandEnd, StartCommand } from '@trinity-rft/fine-tuning';
import { exitCodes } from '../../shared/exit-codes.js';
import { untilInterrupted } from '../../shared/interrupt.js';
import { portOf } from '../../shared/options.js';
import { shownKey, serveKey } from '../../shared/serve-access.js';
import { startChild } from '../../supervise/child.js';
import { invalid } from '../../shared/arguments.js';

export interface FineTuningArguments {
  readonly port?: string;
  readonly host?: string;
  readonly directory?: string;
  readonly models?: string;
  readonly pythonGraders?: boolean;
  readonly webhook?: string;
}

const secretVariable = 'TRINITY_WEBHOOK_SECRET';

/**
 * Serves OpenAI's fine-tuning API until Ctrl-C.
 * @param named paths from `--model`, by model name
 */
export async function serveFineTuning(
  given: FineTuningArguments,
  named: Readonly<Record<string, string>>,
): Promise<number> {
  const { baseModels, openFineTuningServer, readBaseModels } =
    await import('@trinity-rft/fine-tuning');
  const { standardTerminal } = await import('@trinity-rft/launcher');
  const terminal = standardTerminal();
  const onEvent = (line: string): void => terminal.write(`${line}\n`);
  const models = {
    ...(given.models !== undefined && (await readBaseModels(given.models))),
    ...(await baseModels(named, process.cwd(), '--model')),
  };
  if (Object.keys(models).length === 0)
    throw invalid(
      'No model can be trained. Name one with --model gpt-4.1-mini=FOLDER, or several in --models FILE.',
    );
  const apiKey = serveKey();
  const server = await openFineTuningServer({
    directory: given.directory ?? 'fine-tuning',
    models,
    start: starter(onEvent),
    host: given.host,
    port: portOf(given.port),
    apiKey,
    pythonGraders: given.pythonGraders,
    webhook: webhookOf(given.webhook),
    onEvent,
  });
  onEvent(
    `Models: ${Object.keys(models).join(', ')}\nOpenAI base URL: ${server.url}/v1\nAPI key: ${shownKey(apiKey, server.apiKey)}`,
  );
  await untilInterrupted();
  onEvent(
    'If a job is running, it saves a checkpoint and resumes at the next start. Press Ctrl-C again to stop at once.',
  );
  await server.close();
  return exitCodes.done;
}

function webhookOf(
  url: string | undefined,
): { readonly url: string; readonly secret: string } | undefined {
  if (url === undefined) return undefined;
  const secret = process.env[secretVariable];
  if (secret !== undefined && secret !== '') return { url, secret };
  throw invalid(
    `--webhook needs the secret in ${secretVariable}: whsec_ and at least 24 bytes in base64.`,
  );
}

const outcomes: Readonly<Record<number, CommandEnd['outcome']>> = {
  [exitCodes.done]: 'done',
  [exitCodes.interrupted]: 'interrupted',
};

const starter =
  (onEvent: (line: string) => void): StartCommand =>
  (args, restarts) => {
    const child = startChild({
      name: `trinity ${args[0]}`,
      args,
      mayHelp: restarts?.mayHelp,
      progress: restarts?.progress,
      isShown: false,
      mayBeInterrupted: true,
      onRestart: (message) => {
        onEvent(message);
        restarts?.onRestart(message);
      },
    });
    return {
      ended: child.ended.then(({ exitCode, output, reason }) => ({
        outcome: outcomes[exitCode] ?? 'failed',
        output,
        reason,
      })),
      stop: () => child.stop(),
      kill: () => child.kill(),
    };
  };
