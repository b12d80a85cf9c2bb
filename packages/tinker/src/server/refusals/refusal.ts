/**
 * Errors that refuse a request. They are sent immediately, or when the client fetches the result of
 * its request.
 */

/** An error that becomes a response with an HTTP error status. Clients do not retry the request. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: 400 | 401 | 404 | 409 | 413 | 415 | 422;

  constructor(status: Refusal['status'], message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Refuses a request for something that does not exist.
 * @throws Refusal 404
 */
export function notFound(missing: string): never {
  throw new Refusal(
    404,
    `${missing}: it was unloaded, its session has ended, or the server has been started again. Create it again from saved weights.`,
  );
}
