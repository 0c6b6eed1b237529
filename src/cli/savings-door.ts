/** What the verb about savings asks, on this machine's database and through an API; both answer alike. */
import type { SavingDetail, SavingLedger, SavingTotals, StoredHour, StoredSaving } from '../store/saving/ledger.js';
import type { Remote } from './remote.js';

type Shown<T extends StoredSaving> = Omit<T, 'place'>;

export interface SavingList {
  readonly savings: readonly Shown<StoredSaving>[];
  readonly totals: SavingTotals;
}

export type SavingStory = Shown<SavingDetail> & { readonly ledger: readonly StoredHour[] };

/** Every method throws Failure for what it cannot do. */
export interface SavingDoor {
  /** Newest first. */
  list(team: string | null): Promise<SavingList>;
  /** With every hour. */
  show(action: string): Promise<SavingStory>;
}

const PAGE = 500;

export class LocalSavings implements SavingDoor {
  constructor(
    private readonly ledger: SavingLedger,
    private readonly organisation: string,
  ) {}

  async list(team: string | null): Promise<SavingList> {
    const all = await allOf<StoredSaving>(
      ({ place }) => place,
      (after) => this.ledger.list(this.organisation, { team }, after, PAGE),
    );
    return { savings: all.map(shown), totals: await this.ledger.totals(this.organisation, { team }) };
  }

  async show(action: string): Promise<SavingStory> {
    const saving = shown(await this.ledger.known(this.organisation, action));
    return {
      ...saving,
      ledger: await allOf<StoredHour>(
        ({ hour }) => hour,
        (after) => this.ledger.hoursWithLines(this.organisation, saving.team, action, after, PAGE),
      ),
    };
  }
}

function shown<T extends StoredSaving>(stored: T): Shown<T> {
  const { place: _, ...saving } = stored;
  return saving;
}

async function allOf<T>(
  placeOf: (item: T) => string,
  page: (after: string | null) => Promise<readonly T[]>,
): Promise<T[]> {
  const all: T[] = [];
  for (;;) {
    const last = all.at(-1);
    const items = await page(last === undefined ? null : placeOf(last));
    all.push(...items);
    if (items.length < PAGE) return all;
  }
}

export class RemoteSavings implements SavingDoor {
  constructor(private readonly remote: Remote) {}

  async list(team: string | null): Promise<SavingList> {
    const { totals } = await this.remote.call<{ totals: SavingTotals }>('GET', '/v1/savings', {
      query: { team, limit: 1 },
    });
    return { savings: await this.remote.list('/v1/savings', Infinity, { team }), totals };
  }

  async show(action: string): Promise<SavingStory> {
    const path = `/v1/savings/${encodeURIComponent(action)}`;
    const hours: StoredHour[] = [];
    for (let cursor: string | null = null; ; ) {
      const {
        ledger,
        ...saving
      }: Shown<SavingDetail> & { ledger: { items: StoredHour[]; nextCursor: string | null } } = await this.remote.call(
        'GET',
        path,
        { query: { limit: 1000, cursor } },
      );
      hours.push(...ledger.items);
      cursor = ledger.nextCursor;
      if (cursor === null) return { ...saving, ledger: hours };
    }
  }
}
