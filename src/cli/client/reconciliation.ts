/**
 * The API requests of the verb for bills and accruals.
 */
import { changeSettling } from '../../core/bill/settling.js';
import type { LearnedRate, StoredReconciliationSettings, Variance, VarianceTotal } from '../answers.js';
import type { Api } from './api.js';

export interface VarianceQuestion {
  readonly month: string | null;
  readonly team: string | null;
}

export interface VarianceList {
  readonly rows: readonly Variance[];
  readonly totals: readonly VarianceTotal[];
}

export interface LearnedRateList {
  /** Whether they correct accruals. */
  readonly applied: boolean;
  readonly rates: readonly LearnedRate[];
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
    const { learnRates } = await this.api.call<StoredReconciliationSettings>('GET', '/v1/reconciliation/settings');
    return { applied: learnRates, rates: await this.api.list('/v1/reconciliation/rates') };
  }

  async withdraw(id: string): Promise<LearnedRate> {
    const withdrawn = await this.api.call<LearnedRate>(
      'POST',
      `/v1/reconciliation/rates/${encodeURIComponent(id)}/withdraw`,
    );
    await this.wait();
    return withdrawn;
  }

  async setApplied(on: boolean): Promise<LearnedRateList> {
    const { threshold } = await this.api.call<StoredReconciliationSettings>('GET', '/v1/reconciliation/settings');
    await this.api.call('PUT', '/v1/reconciliation/settings', { json: { learnRates: on, threshold } });
    await this.wait();
    return this.rates();
  }

  /** Changes how long bills settle: `10`, or `AWS=7` of one provider. */
  async settle(change: string): Promise<StoredReconciliationSettings['settling']> {
    const settings = await this.api.call<StoredReconciliationSettings>('GET', '/v1/reconciliation/settings');
    const settling = changeSettling(settings.settling, change);
    await this.api.call('PUT', '/v1/reconciliation/settings', { json: { ...settings, settling } });
    await this.wait();
    return settling;
  }
}
