/** `trinity algorithms [NAME]`: the algorithms, losses and other parts of a configuration. */
import type { AlgorithmReference } from '@trinity-rft/config';
import { ConfigError } from '@trinity-rft/core';
import { didYouMean } from '@trinity-rft/core/support';
import { jsonText, type AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { readVocabulary, withPlugins, type PluginOptions } from '../shared/options.js';
import { renderInFull, renderTable } from './render-algorithms.js';

interface AlgorithmsArguments extends PluginOptions {
  readonly json?: boolean;
}

export const addAlgorithms: AddCommand = (program, { exitWith, write }) =>
  void withPlugins(
    program
      .command('algorithms [name]')
      .description(
        'the algorithms and their parts, or one of them in full: formula, arguments, source',
      ),
  )
    .option('--json', 'as JSON')
    .action(
      exitWith(async (name: string | undefined, given: AlgorithmsArguments) => {
        const { algorithmReference } = await import('@trinity-rft/config');
        const { algorithms } = await readVocabulary(given);
        const reference = algorithmReference(algorithms);
        const found = name === undefined ? reference : named(reference, name);
        if (given.json === true) write(jsonText(found));
        else write(name === undefined ? renderTable(reference) : renderInFull(found));
        return exitCodes.done;
      }),
    );

/**
 * Returns the algorithm and the parts with this name; several can have the same. `grpo`, for
 * example, is both an algorithm and an advantage function.
 * @throws ConfigError if the name is unknown
 */
function named({ presets, parts }: AlgorithmReference, name: string): AlgorithmReference {
  const hasName = (each: { readonly name: string }): boolean => each.name === name;
  const found = { presets: presets.filter(hasName), parts: parts.filter(hasName) };
  if (found.presets.length + found.parts.length > 0) return found;
  const known = [...presets, ...parts].map((each) => each.name);
  throw new ConfigError(
    `There is no algorithm or part named "${name}".${didYouMean(name, known)} "trinity algorithms" lists all names.`,
    { code: 'NAME_UNKNOWN' },
  );
}
