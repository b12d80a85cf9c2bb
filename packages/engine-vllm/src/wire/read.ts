import type { z } from 'zod';
import { ServerFault } from './fault.js';

/** @throws ServerFault when the answer of `url` is of another shape */
export function readAnswer<T>(url: string, schema: z.ZodType<T>, answer: unknown): T {
  const { data, error } = schema.safeParse(answer);
  if (error === undefined) return data;
  throw new ServerFault('broken', `${url} answered what cannot be read: ${issueOf(error)}`);
}

/** Only where and what: values may be text of the run. */
function issueOf(error: z.ZodError): string {
  const [issue] = error.issues;
  return issue ? `${issue.path.join('.') || 'the whole'}: ${issue.message}` : 'nothing';
}
