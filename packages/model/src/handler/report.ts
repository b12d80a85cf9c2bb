/** Notices about wishes of clients that are not followed. */
import type { HandlerOptions } from './route.js';

interface Wishes {
  /** Names of all sampling settings the client gave. */
  readonly samplingFields: readonly string[];
  /** Names of fields that ask for constrained decoding. */
  readonly unconstrained: readonly string[];
}

/** Says once what of the clients' wishes is not followed. */
export function report(
  { samplingFields, unconstrained }: Wishes,
  { clientSampling, counters, notices, runtime }: Pick<HandlerOptions, 'clientSampling' | 'counters' | 'notices' | 'runtime'>,
): void {
  if (clientSampling === 'override' && samplingFields.length > 0) {
    counters.add('sampling_overridden');
    notice(
      `The agent sets ${samplingFields.join(', ')}; the run's own sampling settings are used instead, so that what is trained is what was configured.`,
    );
  }
  if (unconstrained.length > 0) {
    counters.add('unconstrained');
    notice(`The agent asks for a fixed form with ${unconstrained.join(', ')}; the model is not forced into it, the reward has to judge.`);
  }
  function notice(text: string): void {
    if (notices.has(text)) return;
    notices.add(text);
    runtime.logger.info(text);
  }
}
