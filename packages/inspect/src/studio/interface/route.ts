/** Types and schemas for the tables of routes. */
import { z } from 'zod';

/** A route that only reads data, with the method `GET`. */
export interface Route {
  readonly summary: string;
  /** Schemas of the query parameters. */
  readonly query: Readonly<Record<string, z.ZodType>>;
  readonly answer: z.ZodType;
  /** Media type of the response. @default application/json */
  readonly type?: string;
}

/** Values of the query parameters of a route. */
export type QueryOf<R extends Route> = {
  readonly [K in keyof R['query']]: z.infer<R['query'][K]>;
};

/** A route below `/api/actions/` that changes something: `POST` with a JSON body. */
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
