/** What the verb about bills and accruals asks, on this machine's database and through an API; both answer alike. */
import type { Clock } from '../core/time.js';
import { changeSettling, type Settling } from '../core/bill/settling.js';
import { wake } from '../store/work.js';
import type { StoredRate } from '../store/price/learned-rates.js';
import type { StoredVariance, VarianceTotal } from '../store/bill/variances.js';
import type { LocalBursar } from './context.js';
import type { Remote } from './remote.js';

export interface VarianceQuestion {
  readonly month: string | null;
  readonly team: string | null;
}

export interface VarianceList {
  readonly rows: readonly StoredVariance[];
  readonly totals: readonly VarianceTotal[];
}

export interface LearnedRateList {
  /** Whether they correct accruals. */
  readonly applied: boolean;
  readonly rates: readonly StoredRate[];
}

/** Every method throws Failure for what it cannot do. */
export interface ReconciliationDoor {
  /** By day. */
  variance(question: VarianceQuestion): Promise<VarianceList>;
  /** Newest period first. */
  rates(): Promise<LearnedRateList>;
  withdraw(id: string): Promise<StoredRate>;
  setApplied(on: boolean): Promise<LearnedRateList>;
  /** Changes how long bills settle: `10`, or `AWS=7` of one provider. */
  settle(change: string): Promise<Settling>;
}

const PAGE = 1000;

export class LocalReconciliation implements ReconciliationDoor {
  constructor(
    private readonly bursar: LocalBursar,
    private readonly clock: Clock,
    private readonly actor: string,
    private readonly drained: () => Promise<void>,
  ) {}

  async variance(question: VarianceQuestion): Promise<VarianceList> {
    const { stores, organisation } = this.bursar;
    const rows = await allOf((after) => stores.variances.list(organisation, question, after, PAGE));
    return { rows, totals: await stores.variances.totals(organisation, question) };
  }

  async rates(): Promise<LearnedRateList> {
    const {
      stores: { db, learnedRates },
      organisation,
    } = this.bursar;
    return {
      applied: await learnedRates.areApplied(db, organisation),
      rates: await allOf((after) => learnedRates.list(db, organisation, after, PAGE)),
    };
  }

  async withdraw(id: string): Promise<StoredRate> {
    const { stores, organisation } = this.bursar;
    const withdrawn = await stores.db.transaction(async (tx) => {
      const rate = await stores.learnedRates.withdraw(tx, organisation, id, this.actor, this.clock.now());
      await stores.audit.audit(tx, organisation, this.actor, 'rate.withdraw', id);
      return rate;
    });
    await this.drained();
    return withdrawn;
  }

  async setApplied(on: boolean): Promise<LearnedRateList> {
    const { stores, organisation } = this.bursar;
    await stores.db.transaction(async (tx) => {
      const before = await stores.learnedRates.setApplied(tx, organisation, on);
      await stores.audit.audit(tx, organisation, this.actor, 'reconciliation.save', 'reconciliation', {
        before: { learnRates: before },
        after: { learnRates: on },
      });
    });
    await this.drained();
    return this.rates();
  }

  async settle(change: string): Promise<Settling> {
    const { stores, organisation } = this.bursar;
    const settling = await stores.db.transaction(async (tx) => {
      const before = await stores.counting.settling(tx, organisation);
      const after = changeSettling(before, change);
      await wake(tx, organisation, await stores.counting.saveSettling(tx, organisation, after));
      const detail = { before: { settling: before }, after: { settling: after } };
      await stores.audit.audit(tx, organisation, this.actor, 'reconciliation.save', 'reconciliation', detail);
      return after;
    });
    await this.drained();
    return settling;
  }
}

async function allOf<T extends { readonly place: string }>(
  page: (after: string | null) => Promise<readonly T[]>,
): Promise<Omit<T, 'place'>[]> {
  const all: Omit<T, 'place'>[] = [];
  for (let after: string | null = null; ; ) {
    const items = await page(after);
    for (const { place, ...item } of items) {
      all.push(item);
      after = place;
    }
    if (items.length < PAGE) return all;
  }
}

interface Settings {
  readonly learnRates: boolean;
  readonly threshold: { readonly ratio: string; readonly amount: string };
  readonly settling: Settling;
}

export class RemoteReconciliation implements ReconciliationDoor {
  constructor(
    private readonly remote: Remote,
    private readonly drained: () => Promise<void>,
  ) {}

  async variance({ month, team }: VarianceQuestion): Promise<VarianceList> {
    const { totals } = await this.remote.call<{ totals: VarianceTotal[] }>('GET', '/v1/reconciliation', {
      query: { month, team, limit: 1 },
    });
    return { rows: await this.remote.list('/v1/reconciliation', Infinity, { month, team }), totals };
  }

  async rates(): Promise<LearnedRateList> {
    const { learnRates } = await this.remote.call<Settings>('GET', '/v1/reconciliation/settings');
    return { applied: learnRates, rates: await this.remote.list('/v1/reconciliation/rates') };
  }

  async withdraw(id: string): Promise<StoredRate> {
    const withdrawn = await this.remote.call<StoredRate>(
      'POST',
      `/v1/reconciliation/rates/${encodeURIComponent(id)}/withdraw`,
    );
    await this.drained();
    return withdrawn;
  }

  async setApplied(on: boolean): Promise<LearnedRateList> {
    const { threshold } = await this.remote.call<Settings>('GET', '/v1/reconciliation/settings');
    await this.remote.call('PUT', '/v1/reconciliation/settings', { json: { learnRates: on, threshold } });
    await this.drained();
    return this.rates();
  }

  async settle(change: string): Promise<Settling> {
    const settings = await this.remote.call<Settings>('GET', '/v1/reconciliation/settings');
    const settling = changeSettling(settings.settling, change);
    await this.remote.call('PUT', '/v1/reconciliation/settings', { json: { ...settings, settling } });
    await this.drained();
    return settling;
  }
}
