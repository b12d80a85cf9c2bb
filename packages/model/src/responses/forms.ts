/** How responses are written: whole, or as the events of a stream. */
import { eventForm, jsonForm } from '../handler/forms.js';
import { failureEvents, toEvents } from './events.js';
import type { ResponseBody } from './response.js';

/** A finished call, and the response that tells of it. */
export interface Created {
  readonly callIndex: number;
  readonly body: ResponseBody;
}

export const whole = jsonForm<Created>(({ body }) => body);
export const streamed = eventForm<Created>(({ body }) => toEvents(body).map((data) => ({ event: data.type, data })), failureEvents);
