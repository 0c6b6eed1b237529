/**
 * The API requests of the verbs for quotes and reservations.
 */
import type { NoQuote, Quote, QuoteRequest, Reservation, ReservationRequest } from '../answers.js';
import { ApiFailure, at, type Api } from './api.js';

export class QuoteClient {
  constructor(
    private readonly api: Api,
    private readonly wait: () => Promise<void>,
  ) {}

  /** A quote without a price is an answer too. */
  async quote(question: QuoteRequest): Promise<Quote | NoQuote> {
    try {
      return await this.api.call('POST', '/v1/quotes', { json: question });
    } catch (error) {
      if (error instanceof ApiFailure && error.document?.['quote'] !== undefined)
        return error.document['quote'] as NoQuote;
      throw error;
    }
  }

  async reserve(wish: ReservationRequest): Promise<Reservation> {
    const reservation = await this.api.call<Reservation>('POST', '/v1/reservations', { json: wish });
    await this.wait();
    return reservation;
  }

  /** Newest first. */
  reservations({
    team,
    active,
  }: {
    readonly team: string | null;
    readonly active: boolean;
  }): Promise<readonly Reservation[]> {
    return this.api.list('/v1/reservations', Infinity, { team, active });
  }

  async release(id: string): Promise<Reservation> {
    const reservation = await this.api.call<Reservation>('DELETE', at('reservations', id));
    await this.wait();
    return reservation;
  }
}
