/** Reads which splits of tasks the server lists. */
import type { SplitName } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';
import { z } from 'zod';
import { type Patience, within } from '../../waiting/within.js';
import { get, httpUrl, unanswered } from './action-form.js';
import type { OpenenvArgs } from './args.js';

/** Names that the server gives to its splits. */
export type Splits = Readonly<Partial<Record<SplitName, string>>>;

const environments = z.tuple([z.string()]);
const listing = z.array(z.object({ name: z.string(), type: z.string() }));

/**
 * Returns the server's names of the splits for training and for evaluation. Returns no names if the
 * server does not list both, or serves several environments.
 * @throws EnvironmentError if the server does not answer, CancelledError on abort
 */
export async function readSplits(args: OpenenvArgs, patience: Patience): Promise<Splits> {
  const read = async <T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> => {
    const address = `${httpUrl(args)}/${path}`;
    const late = () => unanswered(address, patience);
    const { body } = await within(patience, late, (signal) => get(address, args, signal));
    return schema.safeParse(tryJson(body)).data;
  };
  const [name] = (await read('list_environments', environments)) ?? [];
  if (name === undefined) return {};
  const splits = (await read(`${encodeURIComponent(name)}/splits`, listing)) ?? [];
  const of = (type: string) => splits.find((split) => split.type === type)?.name;
  const [train, test] = [of('train'), of('test') ?? of('validation')];
  return train === undefined || test === undefined ? {} : { train, eval: test };
}
