/** Tools of an episode as text. */
import type { GuardedEpisode } from '@trinity-rft/environment/playing';

/** Two lines per tool: name with description, and arguments. */
export const toolLines = (tools: NonNullable<GuardedEpisode['tools']>): string =>
  tools
    .map(
      ({ function: { name, description = '', parameters } }) =>
        `${name}  ${description}\n    ${JSON.stringify(parameters?.['properties'] ?? {})}`,
    )
    .join('\n');
