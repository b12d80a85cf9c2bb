/**
 * Resolves the timing of weight updates: the intervals of explorer and trainer. Warns of settings
 * that have no effect.
 */
import { resolveSection } from '../schema/resolve-section.js';
import { sayIgnored, type StageContext } from './base/context.js';
import type { SynchronizerConfig } from './base/resolved.js';

type Style = SynchronizerConfig['syncStyle'];

export function deriveSynchronizer(context: StageContext): SynchronizerConfig {
  const section = resolveSection(context.sections.synchronizer, context.input.synchronizer);
  const { syncInterval } = section;
  const config: SynchronizerConfig = {
    ...section,
    explorerSyncInterval: section.explorerSyncInterval ?? syncInterval,
    trainerSyncInterval: section.trainerSyncInterval ?? syncInterval,
  };
  if (context.mode !== 'both') return config;
  sayUnused(context, config);
  checkBound(context, config);
  return config;
}

/** Keys that have no effect, by style, with the reason. */
const unused: Readonly<Record<Style, Readonly<Record<string, string>>>> = {
  fixed: { trainer_sync_interval: 'the trainer publishes where the explorer waits for it' },
  explorer_driven: { trainer_sync_interval: 'the trainer publishes when the explorer asks' },
  trainer_driven: {},
  fully_async: {
    explorer_sync_interval: 'the explorer takes new weights as soon as they are published',
    sync_offset: 'the explorer takes new weights as soon as they are published',
  },
};

function sayUnused(context: StageContext, { syncStyle }: SynchronizerConfig): void {
  const { synchronizer } = context.input;
  for (const [name, reason] of Object.entries(unused[syncStyle])) {
    const value = synchronizer[name as keyof typeof synchronizer];
    if (value !== null && value !== 0)
      sayIgnored(context, ['synchronizer'], [name], `With sync_style ${syncStyle} ${reason}.`);
  }
}

/**
 * Checks `max_staleness`. Reports a bound that sync style `fixed` exceeds, because only the
 * interval and the offset determine how far its explorer is ahead. Warns if there is no bound in a
 * sync style that needs one.
 */
function checkBound(context: StageContext, config: SynchronizerConfig): void {
  const { syncStyle, explorerSyncInterval, syncOffset, maxStaleness } = config;
  if (maxStaleness === undefined) {
    if (syncStyle === 'trainer_driven' || syncStyle === 'fully_async')
      context.warn(
        ['synchronizer', 'sync_style'],
        `${syncStyle} lets the explorer be any number of explore steps ahead of the trainer, until experience_buffer.capacity explore steps wait. Set synchronizer.max_staleness, for example to 2, for a bound that holds.`,
      );
    return;
  }
  const ahead = explorerSyncInterval + syncOffset - 1;
  if (syncStyle === 'fixed' && maxStaleness < ahead)
    context.report(
      ['synchronizer', 'max_staleness'],
      `got ${maxStaleness}, but with sync_style fixed an explore step is up to ${ahead} ahead of its weights (the interval ${explorerSyncInterval} + sync_offset ${syncOffset} - 1). Lower these, or raise max_staleness to ${ahead}.`,
      [
        ['synchronizer', 'sync_interval'],
        ['synchronizer', 'explorer_sync_interval'],
        ['synchronizer', 'sync_offset'],
        ['synchronizer', 'sync_style'],
      ],
    );
}

/**
 * Returns the maximum lag of the sampling weights in explore steps. Returns undefined if only the
 * capacity of the experience buffer limits the lag.
 */
export function stalenessBoundOf({
  syncStyle,
  explorerSyncInterval,
  syncOffset,
  maxStaleness,
}: SynchronizerConfig): number | undefined {
  return syncStyle === 'fixed' ? explorerSyncInterval + syncOffset - 1 : maxStaleness;
}
