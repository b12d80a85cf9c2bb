/** Row of the tables of routes. */
import { z } from 'zod';

/** Reads: `GET`. */
export interface Route {
  readonly summary: string;
  /** Query of the query string. */
  readonly query: Readonly<Record<string, z.ZodType>>;
  readonly answer: z.ZodType;
  /** @default application/json */
  readonly type?: string;
}

/** Changes something: `POST` with a body of JSON, below `/api/actions/`. */
export interface Action {
  readonly summary: string;
  readonly body: z.ZodType;
  readonly answer: z.ZodType;
}

export type Routes = Readonly<Record<string, Route>>;
export type Actions = Readonly<Record<string, Action>>;

export const text = (description: string) => z.string().optional().describe(description);
export const number = (description: string) => z.number().optional().describe(description);
export const count = z.int().min(0);
export const numberOrNull = z.number().nullable();

export const problem = z.object({ error: z.string() });
