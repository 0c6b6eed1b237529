/** /v1/reservations: budget held for a coming launch, until it expires, is released, or its launch has cost as much. */
import { Controller, Logger } from '@nestjs/common';
import { z } from 'zod';
import { MOST_HELD_HOURS, RESERVATION_STATES } from '../../core/budget/reservation.js';
import { dirtyPrices } from '../../planning/anomaly/dirty-prices.js';
import { Failure } from '../../core/errors.js';
import {
  HoldEnqueuer,
  type ListedReservation,
  type Reserved,
  type ReserveRequest,
  type StoredReservation,
} from '../../store/budget/reservations.js';
import { prepareReservation, reserveAll, type Asked } from '../../store/budget/reserve.js';
import { enqueue, type WorkItem } from '../../store/work.js';
import { actorOf, Calling, checkTeam, sees, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { pageOf, pageQuery, pageSchema, rowId, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { GroupedWrites } from '../grouped-writes.js';
import { KeyedMutex } from '../../store/keyed-mutex.js';
import { write, type Written } from '../writes.js';
import { quoteFields, quoteShape, requestOf, tagsSchema } from './quotes.js';
import { teamId } from './teams.js';

const decimal = z.string().describe('Decimal string');
const reservationId = z.string().regex(/^res-[0-9a-f]{16}$/, 'is not the id of a reservation');

const requestSchema = z
  .strictObject({
    ...quoteFields,
    team: teamId,
    tags: tagsSchema,
    reason: z.string().max(1000).default('').describe('What it is for'),
    holdHours: z
      .number()
      .positive()
      .max(MOST_HELD_HOURS)
      .nullish()
      .describe('Absent: the length of the longest run, plus an hour to launch it'),
  })
  .meta({ id: 'ReservationRequest' });
const reservationSchema = z
  .strictObject({
    id: z.string(),
    team: z.string(),
    state: z.enum(RESERVATION_STATES),
    tag: z
      .strictObject({ key: z.string(), value: z.string() })
      .describe('Tag of a launch whose cost replaces the reserved amount'),
    amount: decimal.describe('The high end of the quote'),
    currency: z.string(),
    reason: z.string(),
    createdAt: z.iso.datetime(),
    createdBy: z.string(),
    expiresAt: z.iso.datetime(),
    releasedAt: z.iso.datetime().nullable(),
    releasedBy: z.string().nullable(),
    holds: z
      .array(
        z.strictObject({ budget: z.string(), held: decimal, used: decimal, remaining: decimal, currency: z.string() }),
      )
      .describe("The part in each budget's current period"),
    quote: z.strictObject(quoteShape).describe('As it was when it was reserved'),
  })
  .meta({ id: 'Reservation' });
const querySchema = z.strictObject({
  ...pageQuery,
  team: teamId.optional(),
  active: z.enum(['true', 'false']).default('true').describe('false: also those that are over'),
});

@Controller()
export class ReservationsController {
  private readonly enqueuer: HoldEnqueuer;
  private readonly mutex = new KeyedMutex('another reservation', 10_000);
  private readonly made: GroupedWrites<Asked, StoredReservation, Done>;

  constructor(@InjectParts() private readonly parts: WebParts) {
    const logger = new Logger('reservations');
    const { stores } = parts;
    this.made = new GroupedWrites(stores, 'reservation.make', this.mutex, async (tx, organisation, all) =>
      (await reserveAll(stores, tx, organisation, all)).map((one) => (one instanceof Failure ? one : doneOf(one))),
    );
    this.enqueuer = new HoldEnqueuer(stores.db, parts.clock, (error) =>
      logger.warn(`budgets are evaluated later: ${error instanceof Error ? error.message : String(error)}`),
    );
  }

  @Endpoint('POST /v1/reservations', {
    summary: 'Reserve budget for a run',
    access: 'configure',
    mayBeMissing: true,
    writes: true,
    answer: reservationSchema,
    description:
      'Reserves the high end of its quote in every planned budget over the team. If a budget has not enough left, or its state is unknown, the answer is a problem of status 409.',
  })
  async reserve(
    @Calling() caller: Caller,
    @JsonBody(requestSchema) body: z.infer<typeof requestSchema>,
  ): Promise<StoredReservation> {
    const { stores, clock } = this.parts;
    const { team, tags, reason, holdHours } = body;
    checkTeam(caller, team);
    const { organisation } = caller.principal;
    const request: ReserveRequest = {
      request: requestOf(body),
      team,
      tags: tags ?? null,
      reason,
      holdHours: holdHours ?? null,
      now: clock.now(),
      dirtyPrices,
      sees: (one) => sees(caller.principal, one),
    };
    const { body: reservation, written } = await this.made.write(caller, async () => ({
      prepared: await prepareReservation(stores, stores.db, organisation, request),
      by: actorOf(caller),
    }));
    if (written !== null) await this.enqueue(organisation, written.reserved.workItems);
    return reservation;
  }

  @Endpoint('GET /v1/reservations', {
    summary: 'List reservations, newest first',
    access: 'read',
    answer: pageSchema(reservationSchema),
  })
  async list(
    @Calling() { principal, request }: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
  ): Promise<Page<StoredReservation>> {
    const { stores, clock } = this.parts;
    if (query.team !== undefined) checkTeam({ principal, request }, query.team);
    const filter = { team: query.team ?? null, teams: principal.teams, active: query.active === 'true' };
    const page = await pageOf<ListedReservation>(
      query,
      ({ place }) => place,
      (before, limit) => stores.reservations.list(principal.organisation, filter, rowId(before), limit, clock.now()),
    );
    return { ...page, items: page.items.map(({ reservation }) => reservation) };
  }

  @Endpoint('DELETE /v1/reservations/:id', {
    summary: 'Release a reservation',
    description: 'A reservation that is over stays as it is.',
    access: 'configure',
    writes: true,
    answer: reservationSchema,
  })
  async release(@Calling() caller: Caller, @PathInput('id', reservationId) id: string): Promise<StoredReservation> {
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    const workItems: WorkItem[] = [];
    const reservation = await write(
      stores,
      caller,
      'reservation.release',
      async (tx) => {
        checkTeam(caller, (await stores.reservations.known(tx, organisation, id, clock.now())).team);
        const released = await stores.reservations.release(tx, organisation, id, actorOf(caller), clock.now());
        workItems.push(...released.workItems);
        return doneOf(released);
      },
      (transaction) => this.mutex.runExclusive(organisation, transaction),
    );
    await this.enqueue(organisation, workItems);
    return reservation;
  }

  /** Enqueues soon; at once where the process ends after its answer. */
  private async enqueue(organisation: string, workItems: readonly WorkItem[]): Promise<void> {
    if (this.parts.administrator === undefined) this.enqueuer.add(organisation, workItems);
    else await enqueue(this.parts.stores.db, organisation, workItems);
  }
}

/** A change of a reservation, as a write. */
interface Done extends Written<StoredReservation> {
  readonly reserved: Reserved;
}

function doneOf(reserved: Reserved): Done {
  const { id, team, amount, currency, expiresAt } = reserved.reservation;
  return { body: reserved.reservation, target: id, detail: { team, amount, currency, expiresAt }, reserved };
}
