import type { Action } from '@trinity-rft/environment';
import type { GuardedEpisode } from '@trinity-rft/environment/playing';
import type { Write } from '../../shared/command.js';
import { objectOf } from './options.js';
import { toolLines } from './tool-lines.js';

/**
 * Plays an episode with the user's input: each line is one action. Ends when the episode is done, a
 * line is empty, or the input ends.
 */
export async function playByHand(
  episode: GuardedEpisode,
  lines: Iterable<string> | AsyncIterable<string>,
  write: Write,
): Promise<void> {
  const { instructions, observation, tools = [] } = episode;
  if (instructions !== undefined) write(`${instructions}\n\n`);
  if (tools.length > 0) write(`${toolLines(tools)}\nCall one as NAME {"argument": "value"}.\n\n`);
  write(`${observation}\n> `);
  const names = new Set(tools.map((tool) => tool.function.name));
  let total = 0;
  for await (const line of lines) {
    if (line.trim() === '') break;
    const action = readLine(line, names);
    if (typeof action === 'string') {
      write(`${action}\n> `);
      continue;
    }
    const result = await episode.step(action);
    total += result.reward ?? 0;
    const earned = result.reward === undefined ? '' : `  [reward ${result.reward}]`;
    write(`${result.observation}${earned}\n`);
    if (result.done) {
      total += (await episode.grade()) ?? 0;
      write(`Over after a total reward of ${total}.\n`);
      return;
    }
    write('> ');
  }
  const grade = await episode.grade();
  write(`\nStopped${grade === undefined ? '' : ` in a state that is worth ${grade}`}.\n`);
}

/**
 * Parses a line as an action. Returns an error message if a tool's arguments are not a JSON object.
 */
function readLine(line: string, tools: ReadonlySet<string>): Action | string {
  const [name = '', ...rest] = line.trim().split(' ');
  if (!tools.has(name)) return { type: 'text', text: line.trim() };
  const given = rest.join(' ');
  try {
    return { type: 'tool', name, arguments: objectOf(name, given === '' ? '{}' : given) };
  } catch (error) {
    return (error as Error).message;
  }
}
