/**
 * The API requests of the verbs for quotes and reservations.
 */
import type { NoQuote } from '../../core/quote/close.js';
import type { QuoteAnswer, WholeQuestion } from '../../planning/quoting.js';
import type { StoredReservation } from '../../store/budget/reservations.js';
import { ApiFailure, at, type Api } from './api.js';

export interface Reserving extends Pick<WholeQuestion, 'request' | 'tags'> {
  readonly team: string;
  /** Null: as long as the run takes. */
  readonly holdHours: number | null;
  readonly reason: string;
}

export class QuoteClient {
  constructor(
    private readonly api: Api,
    private readonly wait: () => Promise<void>,
  ) {}

  /** A quote without a price is an answer too. */
  async quote({ request, team, tags, placement }: WholeQuestion): Promise<QuoteAnswer | NoQuote> {
    try {
      return await this.api.call('POST', '/v1/quotes', { json: { ...request, team, tags, placement } });
    } catch (error) {
      if (error instanceof ApiFailure && error.document?.['quote'] !== undefined)
        return error.document['quote'] as NoQuote;
      throw error;
    }
  }

  async reserve({ request, ...rest }: Reserving): Promise<StoredReservation> {
    const reservation = await this.api.call<StoredReservation>('POST', '/v1/reservations', {
      json: { ...request, ...rest },
    });
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
  }): Promise<readonly StoredReservation[]> {
    return this.api.list('/v1/reservations', Infinity, { team, active });
  }

  async release(id: string): Promise<StoredReservation> {
    const reservation = await this.api.call<StoredReservation>('DELETE', at('reservations', id));
    await this.wait();
    return reservation;
  }
}
