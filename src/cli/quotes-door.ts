/**
 * What the verbs about quotes and reservations ask, on this machine's database and through an API; both answer alike.
 */
import type { Clock } from '../core/time.js';
import type { NoQuote } from '../core/quote/close.js';
import { dirtyPrices } from '../planning/anomaly/dirty-prices.js';
import { answerQuote, type QuoteAnswer, type WholeQuestion } from '../planning/quoting.js';
import type { Transaction } from '../store/database.js';
import { type ListedReservation, type Reserved, type StoredReservation } from '../store/budget/reservations.js';
import { prepareReservation, reserve } from '../store/budget/reserve.js';
import type { Stores } from '../store/stores.js';
import { wake } from '../store/work.js';
import type { Remote } from './remote.js';

export interface Reserving extends Pick<WholeQuestion, 'request' | 'tags'> {
  readonly team: string;
  /** Null: as long as the run takes. */
  readonly holdHours: number | null;
  readonly reason: string;
}

/** Every method throws Failure for what it cannot do. */
export interface QuoteDoor {
  quote(question: WholeQuestion): Promise<QuoteAnswer | NoQuote>;
  reserve(reserving: Reserving): Promise<StoredReservation>;
  /** Newest first. */
  reservations(filter: {
    readonly team: string | null;
    readonly active: boolean;
  }): Promise<readonly StoredReservation[]>;
  release(id: string): Promise<StoredReservation>;
}

const PAGE = 500;

export class LocalQuotes implements QuoteDoor {
  constructor(
    private readonly stores: Stores,
    private readonly organisation: string,
    private readonly clock: Clock,
    private readonly actor: string,
    private readonly drained: () => Promise<void>,
  ) {}

  async quote(question: WholeQuestion): Promise<QuoteAnswer | NoQuote> {
    const { request, team } = question;
    return answerQuote(
      question,
      await this.stores.quotes.facts(this.stores.db, this.organisation, {
        request,
        team,
        now: this.clock.now(),
        dirtyPrices,
      }),
    );
  }

  reserve({ request, tags, team, holdHours, reason }: Reserving): Promise<StoredReservation> {
    return this.write('reservation.make', async (tx) => {
      const prepared = await prepareReservation(this.stores, tx, this.organisation, {
        request,
        tags,
        team,
        holdHours,
        reason,
        now: this.clock.now(),
        dirtyPrices,
      });
      return reserve(this.stores, tx, this.organisation, prepared, this.actor);
    });
  }

  async reservations({
    team,
    active,
  }: {
    readonly team: string | null;
    readonly active: boolean;
  }): Promise<readonly StoredReservation[]> {
    const found: StoredReservation[] = [];
    for (let before: string | null = null; ; ) {
      const page: ListedReservation[] = await this.stores.reservations.list(
        this.organisation,
        { team, teams: null, active },
        before,
        PAGE,
        this.clock.now(),
      );
      found.push(...page.map(({ reservation }) => reservation));
      before = page.at(-1)?.place ?? null;
      if (page.length < PAGE) return found;
    }
  }

  release(id: string): Promise<StoredReservation> {
    return this.write('reservation.release', (tx) =>
      this.stores.reservations.release(tx, this.organisation, id, this.actor, this.clock.now()),
    );
  }

  private async write(verb: string, work: (tx: Transaction) => Promise<Reserved>): Promise<StoredReservation> {
    const { db, audit } = this.stores;
    const { reservation, wakings } = await db.transaction(async (tx) => {
      const made = await work(tx);
      const { id, team, amount, currency } = made.reservation;
      await audit.audit(tx, this.organisation, this.actor, verb, id, { team, amount, currency });
      return made;
    });
    await wake(db, this.organisation, wakings);
    await this.drained();
    return reservation;
  }
}

export class RemoteQuotes implements QuoteDoor {
  constructor(private readonly remote: Remote) {}

  quote({ request, team, tags, placement }: WholeQuestion): Promise<QuoteAnswer> {
    return this.remote.call('POST', '/v1/quotes', { json: { ...request, team, tags, placement } });
  }

  reserve({ request, ...rest }: Reserving): Promise<StoredReservation> {
    return this.remote.call('POST', '/v1/reservations', { json: { ...request, ...rest } });
  }

  reservations({
    team,
    active,
  }: {
    readonly team: string | null;
    readonly active: boolean;
  }): Promise<readonly StoredReservation[]> {
    return this.remote.list('/v1/reservations', Infinity, { team, active });
  }

  release(id: string): Promise<StoredReservation> {
    return this.remote.call('DELETE', `/v1/reservations/${encodeURIComponent(id)}`);
  }
}
