/** Determines from the server's `GET /schema` which actions it accepts. */
import { ConfigError } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';
import { z } from 'zod';
import { broken, type Patience, shorten, within } from '../../waiting/within.js';
import type { OpenenvArgs } from './args.js';

/** Format of an action: a tool call, or an object with one text field. */
export type ActionForm =
  | {
      readonly type: 'tools';
      /** True if an action may also be text, which is sent in the field `message`. */
      readonly takesText: boolean;
    }
  | { readonly type: 'field'; readonly field: string; readonly valueType: string };

const property = z.object({ type: z.string().optional() });
const schemaAnswer = z.object({
  action: z.object({
    properties: z.record(z.string(), z.unknown()).default({}),
    required: z.array(z.string()).default([]),
  }),
});

/**
 * Reads the format of the server's actions.
 * @throws ConfigError if `action_field` names no field of the action, or if `action_field` is not
 * set and the action does not have exactly one field; EnvironmentError if the server provides no
 * schema
 */
export async function readActionForm(args: OpenenvArgs, patience: Patience): Promise<ActionForm> {
  const address = `${httpUrl(args)}/schema`;
  const { action } = await fetchSchema(address, args, patience);
  const names = Object.keys(action.properties).filter(
    (name) => name !== 'metadata' && !(name in args.action),
  );
  if (args.action_field === undefined && names.includes('tool_name')) {
    const takesText = names.includes('message') && !action.required.includes('tool_name');
    return { type: 'tools', takesText };
  }
  const field = args.action_field ?? (names.length === 1 ? names[0] : undefined);
  if (field === undefined || !(names.length === 0 || names.includes(field)))
    throw unclear(args, names);
  const { type = 'string' } = property.safeParse(action.properties[field]).data ?? {};
  return { type: 'field', field, valueType: type };
}

const unclear = ({ url, action_field: field }: OpenenvArgs, names: readonly string[]) =>
  new ConfigError(
    `environment_args.action_field${field === undefined ? ' is missing' : `: the actions have no field "${field}"`}. Actions of ${url} have the fields ${names.join(', ') || '(none)'}: name the one that takes the policy's text, and give the others values in environment_args.action.`,
    { code: 'ENVIRONMENT_ARGS' },
  );

async function fetchSchema(
  address: string,
  { api_key: key, headers }: OpenenvArgs,
  patience: Patience,
): Promise<z.infer<typeof schemaAnswer>> {
  const late = () =>
    broken('ENVIRONMENT_DEADLINE', `GET ${address} was not answered in ${patience.ms / 1000} s.`);
  return within(patience, late, async (signal) => {
    const { ok, status, body } = await request(address, {
      headers: { ...headers, ...bearer(key) },
      signal,
    });
    if (!ok) throw refused(address, status, body);
    const read = schemaAnswer.safeParse(tryJson(body));
    if (read.success) return read.data;
    throw broken(
      'ENVIRONMENT_ANSWER',
      `GET ${address} gave no schema of actions: ${shorten(body)}. Is it an OpenEnv server?`,
    );
  });
}

export const bearer = (key: string | undefined): Readonly<Record<string, string>> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` };

export const httpUrl = ({ url }: OpenenvArgs): string =>
  url.replace(/^ws/, 'http').replace(/\/+$/, '');

/**
 * Sends a request.
 * @throws EnvironmentError if no server answers, and the reason of the signal if it aborts
 */
export async function request(url: string, init: RequestInit & { readonly signal: AbortSignal }) {
  try {
    const response = await fetch(url, init);
    return { ok: response.ok, status: response.status, body: await response.text() };
  } catch (cause) {
    if (init.signal.aborted) throw init.signal.reason;
    throw broken(
      'ENVIRONMENT_UNREACHABLE',
      `No server answers at ${url}. Start it, or correct environment_args.url.`,
      cause,
    );
  }
}

const refused = (address: string, status: number, body: string) =>
  broken(
    'ENVIRONMENT_UNREACHABLE',
    `GET ${address} was answered with status ${status}: ${shorten(body)}. Check environment_args.url and api_key.`,
  );
