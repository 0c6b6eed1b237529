/**
 * The API requests of the verb for savings.
 */
import type { Saving, SavingDetail, SavingHour, SavingTotals } from '../answers.js';
import { at, type Api } from './api.js';

export interface SavingList {
  readonly savings: readonly Saving[];
  readonly totals: SavingTotals;
}

export type SavingStory = Omit<SavingDetail, 'ledger'> & { readonly ledger: readonly SavingHour[] };

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
    const hours: SavingHour[] = [];
    const cursors = this.api.cursors(path);
    for (let cursor: string | null = null; ; ) {
      const { ledger, ...saving } = await this.api.call<SavingDetail>('GET', path, { query: { limit: 1000, cursor } });
      hours.push(...ledger.items);
      cursor = cursors.after(ledger.nextCursor);
      if (cursor === null) return { ...saving, ledger: hours };
    }
  }
}
