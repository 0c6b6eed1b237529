/**
 * The API requests of the verb for bills and accruals.
 */
import { changeSettling, type Settling } from '../../core/bill/settling.js';
import type { StoredRate } from '../../store/price/learned-rates.js';
import type { StoredVariance, VarianceTotal } from '../../store/bill/variances.js';
import type { Api } from './api.js';

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

interface Settings {
  readonly learnRates: boolean;
  readonly threshold: { readonly ratio: string; readonly amount: string };
  readonly settling: Settling;
}

export class ReconciliationClient {
  constructor(
    private readonly api: Api,
    private readonly wait: () => Promise<void>,
  ) {}

  /** By day. */
  async variance({ month, team }: VarianceQuestion): Promise<VarianceList> {
    const { totals } = await this.api.call<{ totals: VarianceTotal[] }>('GET', '/v1/reconciliation', {
      query: { month, team, limit: 1 },
    });
    return { rows: await this.api.list('/v1/reconciliation', Infinity, { month, team }), totals };
  }

  /** Newest period first. */
  async rates(): Promise<LearnedRateList> {
    const { learnRates } = await this.api.call<Settings>('GET', '/v1/reconciliation/settings');
    return { applied: learnRates, rates: await this.api.list('/v1/reconciliation/rates') };
  }

  async withdraw(id: string): Promise<StoredRate> {
    const withdrawn = await this.api.call<StoredRate>(
      'POST',
      `/v1/reconciliation/rates/${encodeURIComponent(id)}/withdraw`,
    );
    await this.wait();
    return withdrawn;
  }

  async setApplied(on: boolean): Promise<LearnedRateList> {
    const { threshold } = await this.api.call<Settings>('GET', '/v1/reconciliation/settings');
    await this.api.call('PUT', '/v1/reconciliation/settings', { json: { learnRates: on, threshold } });
    await this.wait();
    return this.rates();
  }

  /** Changes how long bills settle: `10`, or `AWS=7` of one provider. */
  async settle(change: string): Promise<Settling> {
    const settings = await this.api.call<Settings>('GET', '/v1/reconciliation/settings');
    const settling = changeSettling(settings.settling, change);
    await this.api.call('PUT', '/v1/reconciliation/settings', { json: { ...settings, settling } });
    await this.wait();
    return settling;
  }
}
