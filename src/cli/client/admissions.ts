/**
 * The API requests of the verb for refused launches.
 */
import type { Admission } from '../answers.js';
import type { Api } from './api.js';

export interface AdmissionQuestion {
  readonly team: string | null;
  /** `YYYY-MM-DD` in the team's zone, half-open; null: open. */
  readonly from: string | null;
  readonly to: string | null;
}

export class AdmissionClient {
  constructor(private readonly api: Api) {}

  /** Newest day first. */
  list({ team, from, to }: AdmissionQuestion, limit: number): Promise<readonly Admission[]> {
    return this.api.list('/v1/admissions', limit, { team, from, to });
  }
}
