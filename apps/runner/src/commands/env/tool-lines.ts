/** Tools of an episode, for people. */
import type { GuardedEpisode } from '@trinity-rft/environment/playing';

/** Two lines for each: what it is for, and its arguments. */
export const toolLines = (tools: NonNullable<GuardedEpisode['tools']>): string =>
  tools
    .map(
      ({ function: { name, description = '', parameters } }) =>
        `${name}  ${description}\n    ${JSON.stringify(parameters?.['properties'] ?? {})}`,
    )
    .join('\n');
