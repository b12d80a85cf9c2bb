import type { GuardedEpisode } from '@trinity-rft/environment/playing';

/** Describes each tool of an episode in two lines: name and description, then arguments. */
export const toolLines = (tools: NonNullable<GuardedEpisode['tools']>): string =>
  tools
    .map(
      ({ function: { name, description = '', parameters } }) =>
        `${name}  ${description}\n    ${JSON.stringify(parameters?.['properties'] ?? {})}`,
    )
    .join('\n');
