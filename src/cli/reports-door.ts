/**
 * What the verb about reports asks, on this machine's database and through an API; both answer with the model, which is
 * written here.
 */
import { Failure } from '../core/errors.js';
import type { Clock } from '../core/time.js';
import type { Report } from '../core/report/report.js';
import type { LocalBursar } from './context.js';
import type { Remote } from './remote.js';

export interface ReportDoor {
  /**
   * Makes the report anew where that is allowed, and waits for it. @throws Failure missing where there is no such team,
   * or nobody has made the report.
   */
  make(team: string, month: string): Promise<Report>;
}

export class LocalReports implements ReportDoor {
  constructor(
    private readonly bursar: LocalBursar,
    private readonly clock: Clock,
    private readonly actor: string,
    private readonly drained: () => Promise<void>,
  ) {}

  async make(team: string, month: string): Promise<Report> {
    const { stores, organisation } = this.bursar;
    await stores.db.transaction(async (tx) => {
      await stores.reports.request(tx, organisation, team, month, this.clock.now());
      await stores.audit.audit(tx, organisation, this.actor, 'report.request', `${team}/${month}`, {});
    });
    await this.drained();
    return stores.reports.known(stores.db, organisation, team, month);
  }
}

export class RemoteReports implements ReportDoor {
  constructor(
    private readonly remote: Remote,
    private readonly drained: () => Promise<void>,
    private readonly note: (text: string) => void,
  ) {}

  async make(team: string, month: string): Promise<Report> {
    try {
      await this.remote.call('POST', '/v1/reports', { json: { team, month } });
      await this.drained();
    } catch (error) {
      // A key that may only look gets the report as it was made last.
      if (!(error instanceof Failure) || error.kind !== 'denied') throw error;
      this.note('this key may not ask for a new report: it is shown as it was made last');
    }
    return this.remote.call('GET', `/v1/reports/${encodeURIComponent(team)}/${encodeURIComponent(month)}`, {
      query: { format: 'json' },
    });
  }
}
