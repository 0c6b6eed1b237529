/**
 * What the verb about refused launches asks, on this machine's database and through an API; both answer alike. It reads
 * only.
 */
import type { StoredAdmission } from '../store/budget/admissions.js';
import type { LocalBursar } from './context.js';
import type { Remote } from './remote.js';

export interface AdmissionQuestion {
  readonly team: string | null;
  /** `YYYY-MM-DD` in the team's zone, half-open; null: open. */
  readonly from: string | null;
  readonly to: string | null;
}

/** Every method throws Failure for what it cannot do. */
export interface AdmissionDoor {
  /** Newest day first. */
  list(question: AdmissionQuestion, limit: number): Promise<readonly StoredAdmission[]>;
}

const PAGE = 500;

export class LocalAdmissions implements AdmissionDoor {
  constructor(private readonly bursar: LocalBursar) {}

  async list(question: AdmissionQuestion, limit: number): Promise<readonly StoredAdmission[]> {
    const {
      stores: { admissions },
      organisation,
    } = this.bursar;
    const all: StoredAdmission[] = [];
    while (all.length < limit) {
      const items = await admissions.list(organisation, { ...question, teams: null }, all.at(-1) ?? null, PAGE);
      all.push(...items);
      if (items.length < PAGE) break;
    }
    return all.slice(0, limit);
  }
}

export class RemoteAdmissions implements AdmissionDoor {
  constructor(private readonly remote: Remote) {}

  list({ team, from, to }: AdmissionQuestion, limit: number): Promise<readonly StoredAdmission[]> {
    return this.remote.list('/v1/admissions', limit, { team, from, to });
  }
}
