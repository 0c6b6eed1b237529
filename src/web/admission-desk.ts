/**
 * Looks up the data for an admission by key, within a time limit. Takes a pod's part of its reservation, and remembers
 * each organisation's choice for when the look-up fails.
 *
 * Memory never answers what a budget allows: only whether to fail open or closed, and which namespaces are exempt. At
 * most one look-up of a key is under way, so that a database that hangs does not take every connection.
 */
import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AdmissionFacts, AdmissionSettings } from '../core/budget/admission.js';
import { denied, Failure } from '../core/errors.js';
import type { Clock } from '../core/time.js';
import type { Taking } from '../core/budget/reservation-pods.js';
import { admissionFacts } from '../store/budget/admission.js';
import type { ClaimRequest, LeaveRequest } from '../store/budget/reservation-pods.js';
import type { Stores } from '../store/stores.js';
import { scopeRefusal } from './caller.js';
import { Refusal } from './problem.js';

const MOST_KEYS = 1000;

/** What was looked up for a key, and the key's organisation. */
interface Found {
  readonly organisation: string;
  readonly facts: AdmissionFacts;
}

export type LookUp =
  | { readonly kind: 'facts'; readonly organisation: string; readonly facts: AdmissionFacts }
  /** Too late, or the database is away. Null: no request had this key before. */
  | { readonly kind: 'unknown'; readonly settings: AdmissionSettings | null };

export class AdmissionDesk {
  /** By the key's SHA-256. */
  private readonly choices = new Map<string, AdmissionSettings>();
  private readonly pending = new Map<string, Promise<Found>>();

  constructor(
    private readonly stores: Pick<Stores, 'db' | 'keys' | 'organisations' | 'reservationPods'>,
    private readonly clock: Clock,
    /** Called with the reason why a look-up failed. */
    private readonly failed: (error: unknown) => void,
  ) {}

  /**
   * @param key the text of an API key
   * @throws Refusal 401 for a text that is no key, Failure denied for a key without the scope or restricted to teams
   */
  async lookUp(key: string, milliseconds: number): Promise<LookUp> {
    const name = hash('sha256', key);
    const timer = new AbortController();
    try {
      const found = await Promise.race([this.facts(name, key), sleep(milliseconds, null, { signal: timer.signal })]);
      return found === null
        ? this.unknown(name, new Error(`no answer from the database within ${milliseconds} ms`))
        : { kind: 'facts', ...found };
    } catch (error) {
      if (error instanceof Refusal || (error instanceof Failure && error.kind === 'denied')) throw error;
      return this.unknown(name, error);
    } finally {
      timer.abort();
    }
  }

  /**
   * Takes a pod's part of its reservation. Null: too late, or the database is away. What is taken after that is given
   * back, unless such pods are let in.
   * @param isDry takes nothing
   */
  async take(request: ClaimRequest, isDry: boolean, milliseconds: number, keepsLate: boolean): Promise<Taking | null> {
    const { reservationPods } = this.stores;
    const timer = new AbortController();
    const taking = isDry ? reservationPods.wouldTake(request) : reservationPods.take(request);
    try {
      const found = await Promise.race([taking, sleep(milliseconds, null, { signal: timer.signal })]);
      if (found !== null) return found;
      this.failed(new Error(`no answer from the database within ${milliseconds} ms`));
      taking
        .then(({ granted }) => (granted && !isDry && !keepsLate ? reservationPods.leave(request) : undefined))
        .catch(this.failed);
    } catch (error) {
      this.failed(error);
    } finally {
      timer.abort();
    }
    return null;
  }

  /**
   * A pod is being deleted: gives back what it took of its reservation. Never fails, since a deletion waits for nobody.
   * The reservation's end gives back what is missed.
   */
  async leave(key: string, pod: Omit<LeaveRequest, 'organisation'>, milliseconds: number): Promise<void> {
    const timer = new AbortController();
    await Promise.race([
      this.giveBack(key, pod).catch(this.failed),
      sleep(milliseconds, null, { signal: timer.signal }).catch(() => null),
    ]);
    timer.abort();
  }

  private async giveBack(key: string, pod: Omit<LeaveRequest, 'organisation'>): Promise<void> {
    const principal = await this.stores.keys.authenticate(key, this.clock.now());
    if (principal?.scopes.includes('admission') === true && principal.teams === null)
      await this.stores.reservationPods.leave({ ...pod, organisation: principal.organisation });
  }

  private unknown(name: string, error: unknown): LookUp {
    this.failed(error);
    return { kind: 'unknown', settings: this.choices.get(name) ?? null };
  }

  private facts(name: string, key: string): Promise<Found> {
    const under = this.pending.get(name);
    if (under !== undefined) return under;
    const pending = this.read(name, key).finally(() => this.pending.delete(name));
    this.pending.set(name, pending);
    // It may fail when nobody waits for it any more.
    pending.catch(() => undefined);
    return pending;
  }

  private async read(name: string, key: string): Promise<Found> {
    const principal = await this.stores.keys.authenticate(key, this.clock.now());
    if (principal === null) {
      this.choices.delete(name);
      throw new Refusal(401, 'the key of the webhook is unknown, revoked or not a key');
    }
    if (!principal.scopes.includes('admission')) throw denied(scopeRefusal(principal, 'admission'));
    if (principal.teams !== null) throw denied('an admission concerns all teams; this key is restricted to some');
    const facts = await admissionFacts(this.stores, principal.organisation, this.clock.now());
    if (this.choices.size >= MOST_KEYS) this.choices.clear();
    this.choices.set(name, facts.settings);
    return { organisation: principal.organisation, facts };
  }
}
