/** How responses are written: whole, or as the events of a stream. */
import type { Form } from '../shared/answer/deliver.js';
import { eventForm, jsonForm, type ServerEvent } from '../shared/answer/encodings.js';
import { failureEvents, toEvents } from './events.js';
import type { ResponseBody } from './response.js';

/** A finished call, and the response that tells of it. */
export interface Created {
  readonly callIndex: number;
  readonly body: ResponseBody;
}

export const whole = jsonForm<Created>(({ body }) => body);

/** The events after the one with this number. @default all */
export function streamed(after = -1): Form<Created> {
  const events = ({ body }: Created): readonly ServerEvent[] =>
    toEvents(body).map((data) => ({ event: data.type, data }));
  return eventForm((created) => events(created).slice(after + 1), failureEvents);
}
