/**
 * The API requests of the verb for reports: fetches the model; the verb writes the file.
 */
import { Failure } from '../../core/errors.js';
import type { Report } from '../../core/report/report.js';
import type { ReportSchedule } from '../answers.js';
import type { Api } from './api.js';

export class ReportClient {
  constructor(
    private readonly api: Api,
    private readonly wait: () => Promise<void>,
    private readonly note: (text: string) => void,
  ) {}

  /**
   * Makes the report again where that is allowed, and waits for it. @throws Failure missing if there is no such team,
   * or nobody has made the report.
   */
  async make(team: string, month: string): Promise<Report> {
    try {
      await this.api.call('POST', '/v1/reports', { json: { team, month } });
      await this.wait();
    } catch (error) {
      // A key that may only look gets the report as it was made last.
      if (!(error instanceof Failure) || error.kind !== 'denied') throw error;
      this.note('this key may not request a new report: the last one is shown');
    }
    return this.api.call('GET', `/v1/reports/${encodeURIComponent(team)}/${encodeURIComponent(month)}`, {
      query: { format: 'json' },
    });
  }

  schedule(): Promise<ReportSchedule> {
    return this.api.call('GET', '/v1/reports/schedule');
  }

  setSchedule(time: ReportSchedule): Promise<ReportSchedule> {
    return this.api.call('PUT', '/v1/reports/schedule', { json: time });
  }
}
