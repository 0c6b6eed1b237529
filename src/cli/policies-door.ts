/**
 * What the verbs about policies ask, on this machine's database and through an API; both answer alike.
 *
 * A document is checked where it is applied, by the policies that are there. Every write is audited in its own
 * transaction.
 */
import { unavailable, type Problem } from '../core/errors.js';
import { checkPolicyDocument, readPolicyDocument, type PolicyDocument } from '../core/policy/document.js';
import { describePolicy, type PolicyDescription } from '../core/policy/description.js';
import type { Policy } from '../core/policy/policy.js';
import type { Clock } from '../core/time.js';
import type { StoredPolicy } from '../store/policy/policies.js';
import { applyPolicy, pausePolicy, type Applied } from '../application/policy/set-policy.js';
import type { Transaction } from '../store/database.js';
import type { LocalBursar } from './context.js';
import type { Remote } from './remote.js';

export interface PolicyList {
  /** Every policy that there is. */
  readonly policies: readonly PolicyDescription[];
  /** What holds. */
  readonly documents: readonly StoredPolicy[];
}

export interface PolicyCheck {
  readonly valid: boolean;
  readonly problems: readonly Problem[];
  /** With defaults filled in; null where it is not valid. */
  readonly document: PolicyDocument | null;
}

/** Every method throws Failure for what it cannot do. */
export interface PolicyDoor {
  list(): Promise<PolicyList>;
  show(name: string): Promise<StoredPolicy>;
  validate(value: unknown): Promise<PolicyCheck>;
  /** @param override why it may enforce without a backtest */
  apply(value: unknown, override: string | null): Promise<StoredPolicy>;
  pause(name: string, paused: boolean): Promise<StoredPolicy>;
}

export class LocalPolicies implements PolicyDoor {
  constructor(
    private readonly bursar: LocalBursar,
    private readonly clock: Clock,
    private readonly actor: string,
    private readonly drained: () => Promise<void>,
  ) {}

  /** @throws Failure unavailable where this process was started without its policies. */
  private get policies(): readonly Policy[] {
    if (this.bursar.policies === undefined) throw unavailable('no policies are loaded here');
    return this.bursar.policies;
  }

  async list(): Promise<PolicyList> {
    const { stores, organisation } = this.bursar;
    return {
      policies: this.policies.map(describePolicy),
      documents: await stores.policies.list(stores.db, organisation, this.policies),
    };
  }

  async show(name: string): Promise<StoredPolicy> {
    const { stores, organisation } = this.bursar;
    const { documents } = await this.list();
    return documents.find((document) => document.name === name) ?? stores.policies.known(stores.db, organisation, name);
  }

  async validate(value: unknown): Promise<PolicyCheck> {
    const { document, problems } = checkPolicyDocument(value, this.policies);
    return { valid: document !== null, problems, document };
  }

  async apply(value: unknown, override: string | null): Promise<StoredPolicy> {
    const document = readPolicyDocument(value, this.policies);
    return this.write('policy.apply', document.name, (tx) =>
      applyPolicy(
        this.bursar.stores,
        tx,
        this.bursar.organisation,
        this.policies,
        { document, override },
        this.actor,
        this.clock.now(),
      ),
    );
  }

  async pause(name: string, paused: boolean): Promise<StoredPolicy> {
    return this.write(paused ? 'policy.pause' : 'policy.resume', name, (tx) =>
      pausePolicy(this.bursar.stores, tx, this.bursar.organisation, name, paused, this.actor, this.clock.now()),
    );
  }

  private async write(verb: string, name: string, work: (tx: Transaction) => Promise<Applied>): Promise<StoredPolicy> {
    const { stores, organisation } = this.bursar;
    const written = await stores.db.transaction(async (tx) => {
      const { policy, detail } = await work(tx);
      await stores.audit.audit(tx, organisation, this.actor, verb, name, detail);
      return policy;
    });
    await this.drained();
    return written;
  }
}

export class RemotePolicies implements PolicyDoor {
  constructor(
    private readonly remote: Remote,
    private readonly drained: () => Promise<void>,
  ) {}

  async list(): Promise<PolicyList> {
    const { catalogue } = await this.remote.call<{ catalogue: PolicyDescription[] }>('GET', '/v1/policies', {
      query: { limit: 1 },
    });
    return { policies: catalogue, documents: await this.remote.list('/v1/policies') };
  }

  show(name: string): Promise<StoredPolicy> {
    return this.remote.call('GET', at(name));
  }

  validate(value: unknown): Promise<PolicyCheck> {
    return this.remote.call('POST', '/v1/policies/validate', { json: value });
  }

  async apply(value: unknown, override: string | null): Promise<StoredPolicy> {
    const { name, ...settings } =
      typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
    // What has no name of its own has no address: it is refused with all its problems.
    const address = typeof name === 'string' && name !== '' ? at(name) : at('-');
    const applied = await this.remote.call<StoredPolicy>('PUT', address, {
      json: override === null ? settings : { ...settings, override },
    });
    await this.drained();
    return applied;
  }

  async pause(name: string, paused: boolean): Promise<StoredPolicy> {
    const changed = await this.remote.call<StoredPolicy>('POST', `${at(name)}/${paused ? 'pause' : 'resume'}`);
    await this.drained();
    return changed;
  }
}

const at = (name: string): string => `/v1/policies/${encodeURIComponent(name)}`;
