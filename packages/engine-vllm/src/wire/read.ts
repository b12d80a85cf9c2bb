import type { z } from 'zod';
import { ServerFault } from './fault.js';

/**
 * Validates a response from `url`.
 * @throws ServerFault if the response does not fit the schema
 */
export function readAnswer<T>(url: string, schema: z.ZodType<T>, answer: unknown): T {
  const { data, error } = schema.safeParse(answer);
  if (error === undefined) return data;
  throw new ServerFault('broken', `${url} answered what cannot be read: ${issueOf(error)}`);
}

/**
 * Describes where a response is invalid and in which way. Leaves out the values, which may contain
 * training data.
 */
function issueOf(error: z.ZodError): string {
  const [issue] = error.issues;
  return issue ? `${issue.path.join('.') || 'the whole'}: ${issue.message}` : 'nothing';
}
