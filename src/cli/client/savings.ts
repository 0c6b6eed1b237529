/**
 * The API requests of the verb for savings.
 */
import type { SavingDetail, SavingTotals, StoredHour, StoredSaving } from '../../store/saving/ledger.js';
import { at, type Api } from './api.js';

type Shown<T extends StoredSaving> = Omit<T, 'place'>;

export interface SavingList {
  readonly savings: readonly Shown<StoredSaving>[];
  readonly totals: SavingTotals;
}

export type SavingStory = Shown<SavingDetail> & { readonly ledger: readonly StoredHour[] };

export class SavingClient {
  constructor(private readonly api: Api) {}

  /** Newest first. */
  async list(team: string | null): Promise<SavingList> {
    const { totals } = await this.api.call<{ totals: SavingTotals }>('GET', '/v1/savings', {
      query: { team, limit: 1 },
    });
    return { savings: await this.api.list('/v1/savings', Infinity, { team }), totals };
  }

  /** With every hour. */
  async show(action: string): Promise<SavingStory> {
    const path = at('savings', action);
    const hours: StoredHour[] = [];
    const cursors = this.api.cursors(path);
    for (let cursor: string | null = null; ; ) {
      const {
        ledger,
        ...saving
      }: Shown<SavingDetail> & { ledger: { items: StoredHour[]; nextCursor: string | null } } = await this.api.call(
        'GET',
        path,
        { query: { limit: 1000, cursor } },
      );
      hours.push(...ledger.items);
      cursor = cursors.after(ledger.nextCursor);
      if (cursor === null) return { ...saving, ledger: hours };
    }
  }
}
